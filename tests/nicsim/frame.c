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

#include "frame.h"

/* CRC32C is an instruction of SSE4.2, which main() checks for. */
__attribute__((target("sse4.2")))
static inline uint64_t
crc_word(uint64_t crc, uint64_t word)
{
    return __builtin_ia32_crc32di(crc, word);
}

/* The checksum of a body: four independent sums, because the instruction's
 * result takes three cycles. */
struct body_sum {
    uint64_t lane[4];
};

#define BODY_SUM_INIT { { 1, 2, 3, 4 } }

__attribute__((target("sse4.2")))
static inline uint64_t
body_sum_finish(const struct body_sum *s)
{
    uint64_t sum = crc_word(s->lane[0], s->lane[1] | s->lane[2] << 32);

    return crc_word(sum, s->lane[3]);
}

/* Returns the checksum of the 'len' bytes of body at 'body'. */
__attribute__((target("sse4.2")))
static uint64_t
body_check(const uint8_t *body, size_t len)
{
    struct body_sum s = BODY_SUM_INIT;
    uint64_t word = 0;
    size_t i = 0;

    for (; i + 32 <= len; i += 32) {
        s.lane[0] = crc_word(s.lane[0], get_u64(body + i));
        s.lane[1] = crc_word(s.lane[1], get_u64(body + i + 8));
        s.lane[2] = crc_word(s.lane[2], get_u64(body + i + 16));
        s.lane[3] = crc_word(s.lane[3], get_u64(body + i + 24));
    }
    for (; i + 8 <= len; i += 8) {
        s.lane[0] = crc_word(s.lane[0], get_u64(body + i));
    }
    memcpy(&word, body + i, len - i);
    s.lane[1] = crc_word(s.lane[1], word);
    return body_sum_finish(&s);
}

/* Writes the body of 'len' bytes of frame 'seq' to 'body'.  Returns its
 * checksum, as body_check() does. */
__attribute__((target("sse4.2")))
static uint64_t
body_write(uint8_t *body, size_t len, uint64_t seq)
{
    struct body_sum s = BODY_SUM_INIT;
    uint64_t word = (seq + 1) * UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t step = UINT64_C(0xc2b2ae3d27d4eb4f);
    uint64_t last = 0;
    size_t i = 0;

    for (; i + 32 <= len; i += 32) {
        for (unsigned int j = 0; j < 4; j++) {
            put_u64(body + i + j * 8, word + j * step);
            s.lane[j] = crc_word(s.lane[j], word + j * step);
        }
        word += 4 * step;
    }
    for (; i + 8 <= len; i += 8) {
        put_u64(body + i, word);
        s.lane[0] = crc_word(s.lane[0], word);
        word += step;
    }
    memcpy(&last, &word, len - i);
    memcpy(body + i, &last, len - i);
    s.lane[1] = crc_word(s.lane[1], last);
    return body_sum_finish(&s);
}

/* What the checksum in a frame's tag is about, apart from the body. */
struct summed {
    uint64_t ip;                /* Total length and protocol. */
    uint64_t addresses;         /* IP source and destination. */
    uint64_t udp;               /* Ports and length. */
    uint64_t tag;               /* Magic, port, queue, and 2 bytes of seq. */
    uint64_t seq;               /* Sequence number. */
};

#define SUMMED_UDP_MASK UINT64_C(0x0000ffffffffffff)

__attribute__((target("sse4.2")))
static inline uint64_t
header_sum(const struct summed *s)
{
    uint64_t sum = crc_word(UINT32_MAX, s->ip);

    sum = crc_word(sum, s->addresses);
    sum = crc_word(sum, s->udp & SUMMED_UDP_MASK);
    sum = crc_word(sum, s->tag);
    return crc_word(sum, s->seq);
}

/* Returns true if the checksum of the IP header at 'ip', without options, is
 * right. */
static inline bool
ip_header_valid(const uint8_t *ip)
{
    uint64_t sum = ((uint64_t) get_u32(ip) + get_u32(ip + 4) + get_u32(ip + 8)
                    + get_u32(ip + 12) + get_u32(ip + 16));

    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

void
frame_template_init(struct frame_template *t, uint32_t len,
                    unsigned int port, const uint8_t dst[ETH_ALEN])
{
    static const uint8_t src[ETH_ALEN] = { 0x02, 0, 0, 0, 0xaa, 0 };
    uint8_t *eth = t->header;
    uint8_t *ip = eth + ETH_HEADER_LEN;
    uint8_t *udp = ip + FRAME_UDP_OFS;

    memset(t, 0, sizeof *t);
    t->len = len;

    memcpy(eth, dst, ETH_ALEN);
    memcpy(eth + 6, src, ETH_ALEN);
    eth[11] = port;
    put_be16(eth + 12, ETH_TYPE_IP);

    ip[0] = 0x45;
    put_be16(ip + 2, len - ETH_HEADER_LEN);
    ip[8] = 64;                 /* TTL. */
    ip[9] = IP_PROTO_UDP;
    put_be32(ip + 12, 198u << 24 | 18u << 16);
    put_be32(ip + 16, 198u << 24 | 19u << 16 | port << 8 | 1);
    t->ip_sum = ip_sum(ip, IP_HEADER_LEN, 0);

    put_be16(udp + 2, 9);
    put_be16(udp + 4, len - ETH_HEADER_LEN - IP_HEADER_LEN);

    t->ip = (uint64_t) (len - ETH_HEADER_LEN) << 8 | IP_PROTO_UDP;
    t->addresses = get_u64(ip + 12);
    t->udp = get_u64(udp);
    t->tag = FRAME_MAGIC | (uint64_t) port << 32;
}

__attribute__((target("sse4.2")))
void
frame_write(const struct frame_template *t, uint8_t *data, uint32_t flow,
            unsigned int queue, uint64_t seq)
{
    uint8_t *ip = data + ETH_HEADER_LEN;
    uint8_t *tag = ip + FRAME_TAG_OFS;
    size_t body_len = t->len - FRAME_MIN_LEN;
    uint16_t flow_be = __builtin_bswap16(flow);
    uint16_t port_be = __builtin_bswap16(1024 + (flow >> 16));
    uint32_t ip_sum = t->ip_sum + (flow & 0xffff);
    uint64_t sum;
    struct summed s = {
        .ip = t->ip,
        .addresses = t->addresses | (uint64_t) flow_be << 16,
        .udp = t->udp | port_be,
        .tag = t->tag | (uint64_t) queue << 40 | seq << 48,
        .seq = seq,
    };

    /* Each byte is written once, in words as they are read. */
    memcpy(data, t->header, 24);
    ip_sum = (ip_sum & 0xffff) + (ip_sum >> 16);
    put_be16(ip + 10, ~(ip_sum + (ip_sum >> 16)));
    put_u64(ip + 12, s.addresses);
    put_u64(ip + FRAME_UDP_OFS, s.udp);
    put_u64(tag, s.tag);
    put_u64(tag + offsetof(struct frame_tag, seq), s.seq);

    sum = header_sum(&s);
    if (body_len) {
        sum = crc_word(sum, body_write(ip + FRAME_BODY_OFS, body_len, seq));
    }
    put_u32(tag + offsetof(struct frame_tag, sum), sum);
}

__attribute__((target("sse4.2")))
struct frame_info
frame_check(const uint8_t *data, uint32_t len, bool no_ip_sum)
{
    struct frame_info info = { .kind = FRAME_FOREIGN };
    uint32_t l3_ofs = ETH_HEADER_LEN;
    const struct frame_tag *tag;
    const uint8_t *ip;
    struct summed s;
    uint64_t sum;
    size_t ip_len;

    if (UNLIKELY(len < FRAME_MIN_LEN)) {
        return info;
    }
    if (UNLIKELY(get_be16(data + 12) == ETH_TYPE_VLAN)) {
        l3_ofs += VLAN_HEADER_LEN;
    }
    ip = data + l3_ofs;
    tag = (const struct frame_tag *) (ip + FRAME_TAG_OFS);
    if (l3_ofs + FRAME_BODY_OFS > len || tag->magic != FRAME_MAGIC) {
        return info;
    }

    info.kind = FRAME_CORRUPT;
    info.port = tag->port;
    ip_len = get_be16(ip + 2);
    if (ip_len < FRAME_BODY_OFS || l3_ofs + ip_len > len) {
        return info;
    }
    s.ip = (uint64_t) ip_len << 8 | ip[9];
    s.addresses = get_u64(ip + 12);
    s.udp = get_u64(ip + FRAME_UDP_OFS);
    s.tag = get_u64(tag);
    s.seq = tag->seq;
    sum = header_sum(&s);
    if (ip_len > FRAME_BODY_OFS) {
        sum = crc_word(sum, body_check(ip + FRAME_BODY_OFS,
                                       ip_len - FRAME_BODY_OFS));
    }
    if (tag->sum != (uint32_t) sum || !(no_ip_sum || ip_header_valid(ip))) {
        return info;
    }

    info.kind = FRAME_GOOD;
    info.queue = tag->queue;
    info.flow = (get_be16(ip + 14)
                 | (uint32_t) (uint16_t) (get_be16(ip + FRAME_UDP_OFS)
                                          - 1024) << 16);
    info.seq = s.seq;
    return info;
}
