/*
 * Copyright (c) 2026 The mbuf-recycle authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#ifndef NICSIM_PACKET_H
#define NICSIM_PACKET_H 1

/* What a NIC knows about the headers of a frame. */

#include "util.h"

#define ETH_ALEN 6
#define ETH_HEADER_LEN 14
#define ETH_CRC_LEN 4
#define ETH_MIN_LEN 60          /* Without CRC. */
#define ETH_MAX_LEN 9728        /* Without CRC; largest frame of an XL710. */
#define VLAN_HEADER_LEN 4

#define ETH_TYPE_IP 0x0800
#define ETH_TYPE_ARP 0x0806
#define ETH_TYPE_VLAN 0x8100
#define ETH_TYPE_QINQ 0x88a8
#define ETH_TYPE_IPV6 0x86dd

#define IP_HEADER_LEN 20
#define IPV6_HEADER_LEN 40
#define UDP_HEADER_LEN 8

#define IP_PROTO_ICMP 1
#define IP_PROTO_TCP 6
#define IP_PROTO_UDP 17
#define IP_PROTO_ICMPV6 58
#define IP_PROTO_SCTP 132

enum l3_type { L3_NONE, L3_ARP, L3_IPV4, L3_IPV6 };
enum l4_type { L4_NONE, L4_UDP, L4_TCP, L4_SCTP, L4_ICMP };

struct packet_headers {
    enum l3_type l3;
    enum l4_type l4;
    bool fragment;              /* An IP fragment; 'l4' is L4_NONE then. */
    uint16_t l3_ofs;            /* Of the IP header, 0 if none. */
    uint16_t l4_ofs;            /* Of the L4 header, 0 if none. */
};

enum cast { CAST_UNICAST, CAST_MULTICAST, CAST_BROADCAST, N_CASTS };

/* Returns what 'frame', 'len' bytes without CRC, is made of.  Anything can be
 * in it. */
struct packet_headers packet_parse(const uint8_t *frame, size_t len);

/* Writes the input of the RSS hash for 'frame' to 'input', 36 bytes of space:
 * addresses, and ports if 'h' names UDP, TCP or SCTP.  Returns its size, 0 if
 * the frame is not IP. */
size_t packet_rss_input(const uint8_t *frame, const struct packet_headers *h,
                        uint8_t *input);

/* Returns the ones' complement sum of the 'len' bytes at 'data', as 16-bit
 * words in network order, added to 'sum' and folded to 16 bits. */
uint16_t ip_sum(const uint8_t *data, size_t len, uint32_t sum);

/* Returns whom the destination address of 'frame' addresses. */
static inline enum cast
packet_cast(const uint8_t *frame)
{
    if (LIKELY(!(frame[0] & 1))) {
        return CAST_UNICAST;
    }
    return (get_u32(frame) == UINT32_MAX && get_u16(frame + 4) == UINT16_MAX
            ? CAST_BROADCAST : CAST_MULTICAST);
}

/* Classes by which a NIC counts frame sizes: up to 64, 127, 255, 511, 1023,
 * 1522 and more bytes, with CRC. */
#define N_SIZE_CLASSES 7

/* Returns the class of a frame of 'len' bytes without CRC. */
static inline unsigned int
packet_size_class(uint32_t len)
{
    len += ETH_CRC_LEN;
    return ((len > 64) + (len > 127) + (len > 255) + (len > 511)
            + (len > 1023) + (len > 1522));
}

#endif /* packet.h */
