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

#ifndef NICSIM_FRAME_H
#define NICSIM_FRAME_H 1

/* The frames the generator makes and the checker knows again.
 *
 *     Ethernet   14 bytes   to the port's address
 *     IPv4       20 bytes   198.18.F.F -> 198.19.P.1, correct checksum
 *     UDP         8 bytes   from 1024 + F, to 9 (discard), no checksum
 *     tag        18 bytes   see struct frame_tag
 *     body                  words that depend on the sequence number
 *
 * F is the flow number, P the port number.  The tag's checksum covers what a
 * switch or a guest has no reason to change: IP total length, protocol and
 * addresses, UDP ports and length, the tag and the body; not the Ethernet
 * addresses, VLAN tags, TOS, TTL and the IP and UDP checksums.  The IP
 * checksum is checked too. */

#include "packet.h"
#include "util.h"

/* Number of flows that can be told apart: 16 bits in the source address and
 * 4 in the source port. */
#define FRAME_MAX_FLOWS (1u << 20)

/* Sizes without CRC. */
#define FRAME_MIN_LEN 60
#define FRAME_MAX_LEN 1514

/* What follows the UDP header.  Packed: it starts at an odd multiple of 2. */
struct frame_tag {
    uint32_t magic;             /* FRAME_MAGIC. */
    uint8_t port;               /* Port whose generator made the frame. */
    uint8_t queue;              /* Index of the Rx queue it went to. */
    uint64_t seq;               /* Counts the frames of that queue. */
    uint32_t sum;               /* Checksum, see above. */
} __attribute__((packed));

#define FRAME_MAGIC 0x4e69534du

/* Offsets from the IP header. */
#define FRAME_UDP_OFS IP_HEADER_LEN
#define FRAME_TAG_OFS (IP_HEADER_LEN + UDP_HEADER_LEN)
#define FRAME_BODY_OFS (FRAME_TAG_OFS + sizeof(struct frame_tag))

_Static_assert(sizeof(struct frame_tag) == 18, "no padding in the tag");
_Static_assert(ETH_HEADER_LEN + FRAME_BODY_OFS == FRAME_MIN_LEN,
               "a frame of 64 bytes has an empty body");

/* What all frames of one generator have in common. */
struct frame_template {
    uint8_t header[64];         /* Ethernet, IP and UDP. */
    uint32_t len;               /* Of the frame, bytes without CRC. */
    uint32_t ip_sum;            /* Of the IP header without flow and sum. */

    /* Parts that a frame's checksum is about, without flow, queue and
     * sequence number, as they stand in memory. */
    uint64_t ip;
    uint64_t addresses;
    uint64_t udp;
    uint64_t tag;
};

/* Prepares 't' for frames of 'len' bytes without CRC, FRAME_MIN_LEN to
 * FRAME_MAX_LEN, of port 'port' to Ethernet address 'dst'. */
void frame_template_init(struct frame_template *t, uint32_t len,
                         unsigned int port, const uint8_t dst[ETH_ALEN]);

/* Writes the frame of 'flow' with 'queue' and 'seq' to 'data'. */
void frame_write(const struct frame_template *t, uint8_t *data,
                 uint32_t flow, unsigned int queue, uint64_t seq);

/* What the checker finds out about a frame. */
enum frame_kind {
    FRAME_GOOD,                 /* Ours, and unharmed. */
    FRAME_CORRUPT,              /* Ours, but not as it was sent. */
    FRAME_FOREIGN,              /* Not from the generator. */
};

struct frame_info {
    enum frame_kind kind;
    unsigned int port;          /* From the tag, unless foreign. */
    unsigned int queue;         /* From the tag, if good. */
    uint32_t flow;              /* If good. */
    uint64_t seq;               /* From the tag, if good. */
};

/* Examines the 'len' bytes at 'data'.  With 'no_ip_sum', the IP checksum is
 * still to be filled in by the NIC and not looked at. */
struct frame_info frame_check(const uint8_t *data, uint32_t len,
                              bool no_ip_sum);

#endif /* frame.h */
