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

#include "packet.h"

/* Sets the fields of 'h' about what follows the IP header. */
static void
set_l4(struct packet_headers *h, uint8_t proto, size_t ofs, size_t len)
{
    static const struct {
        uint8_t proto;
        enum l4_type type;
        uint8_t min_len;        /* Bytes that must be there. */
    } known[] = {
        { IP_PROTO_UDP, L4_UDP, 8 },
        { IP_PROTO_TCP, L4_TCP, 20 },
        { IP_PROTO_SCTP, L4_SCTP, 12 },
        { IP_PROTO_ICMP, L4_ICMP, 4 },
        { IP_PROTO_ICMPV6, L4_ICMP, 4 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (proto == known[i].proto && ofs + known[i].min_len <= len) {
            h->l4 = known[i].type;
            h->l4_ofs = ofs;
        }
    }
}

struct packet_headers
packet_parse(const uint8_t *frame, size_t len)
{
    struct packet_headers h = { .l3 = L3_NONE };
    size_t ofs = ETH_HEADER_LEN;
    uint16_t type;

    if (len < ETH_HEADER_LEN) {
        return h;
    }
    type = get_be16(frame + 12);
    while ((type == ETH_TYPE_VLAN || type == ETH_TYPE_QINQ)
           && ofs + VLAN_HEADER_LEN <= len) {
        type = get_be16(frame + ofs + 2);
        ofs += VLAN_HEADER_LEN;
    }

    if (type == ETH_TYPE_ARP) {
        h.l3 = L3_ARP;
    } else if (type == ETH_TYPE_IP && ofs + IP_HEADER_LEN <= len) {
        const uint8_t *ip = frame + ofs;
        size_t ip_len = (ip[0] & 15) * 4;

        if (ip[0] >> 4 == 4 && ip_len >= IP_HEADER_LEN
            && ofs + ip_len <= len) {
            h.l3 = L3_IPV4;
            h.l3_ofs = ofs;
            h.fragment = get_be16(ip + 6) & 0x3fff;
            if (!h.fragment) {
                set_l4(&h, ip[9], ofs + ip_len, len);
            }
        }
    } else if (type == ETH_TYPE_IPV6 && ofs + IPV6_HEADER_LEN <= len
               && frame[ofs] >> 4 == 6) {
        h.l3 = L3_IPV6;
        h.l3_ofs = ofs;
        h.fragment = frame[ofs + 6] == 44;
        if (!h.fragment) {
            set_l4(&h, frame[ofs + 6], ofs + IPV6_HEADER_LEN, len);
        }
    }
    return h;
}

size_t
packet_rss_input(const uint8_t *frame, const struct packet_headers *h,
                 uint8_t *input)
{
    size_t n;

    if (h->l3 == L3_IPV4) {
        n = 8;
        memcpy(input, frame + h->l3_ofs + 12, n);
    } else if (h->l3 == L3_IPV6) {
        n = 32;
        memcpy(input, frame + h->l3_ofs + 8, n);
    } else {
        return 0;
    }
    if (h->l4 == L4_UDP || h->l4 == L4_TCP || h->l4 == L4_SCTP) {
        memcpy(input + n, frame + h->l4_ofs, 4);
        n += 4;
    }
    return n;
}

uint16_t
ip_sum(const uint8_t *data, size_t len, uint32_t sum)
{
    uint64_t total = sum;
    size_t i;

    for (i = 0; i + 2 <= len; i += 2) {
        total += get_be16(data + i);
    }
    if (i < len) {
        total += (uint32_t) data[i] << 8;
    }
    while (total >> 16) {
        total = (total & 0xffff) + (total >> 16);
    }
    return total;
}
