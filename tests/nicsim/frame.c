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

/* Word 'i' of the body of a frame with sequence number 'seq'. */
static inline uint64_t
body_word(uint64_t seq, uint64_t i)
{
    return (seq + 1) * UINT64_C(0x9e3779b97f4a7c15)
           + i * UINT64_C(0xc2b2ae3d27d4eb4f);
}

/* Returns the checksum of the body at 'body', 'len' bytes.  Four independent
 * sums, because the instruction's result takes three cycles. */
__attribute__((target("sse4.2")))
static uint64_t
body_sum(const uint8_t *body, size_t len)
{
    uint64_t a = 1, b = 2, c = 3, d = 4;
    size_t i = 0;

    for (; i + 32 <= len; i += 32) {
        a = crc_word(a, get_u64(body + i));
        b = crc_word(b, get_u64(body + i + 8));
        c = crc_word(c, get_u64(body + i + 16));
        d = crc_word(d, get_u64(body + i + 24));
    }
    for (; i + 8 <= len; i += 8) {
        a = crc_word(a, get_u64(body + i));
    }
    for (; i < len; i++) {
        b = __builtin_ia32_crc32qi(b, body[i]);
    }
    return crc_word(crc_word(a, b | c << 32), d);
}

/* Returns the checksum for the tag of the frame whose IP header is at 'ip'
 * and whose IP packet has 'len' bytes. */
__attribute__((target("sse4.2")))
static inline uint32_t
frame_sum(const uint8_t *ip, size_t len)
{
    const uint8_t *udp = ip + FRAME_UDP_OFS;
    const uint8_t *tag = ip + FRAME_TAG_OFS;
    uint64_t sum;

    /* Length and protocol; addresses; UDP ports and length without checksum;
     * magic, port and queue with the start of the sequence number; all of
     * the sequence number. */
    sum = crc_word(UINT32_MAX, (uint64_t) len << 8 | ip[9]);
    sum = crc_word(sum, get_u64(ip + 12));
    sum = crc_word(sum, get_u64(udp) & UINT64_C(0xffffffffffff));
    sum = crc_word(sum, get_u64(tag));
    sum = crc_word(sum, get_u64(tag + offsetof(struct frame_tag, seq)));
    if (len > FRAME_BODY_OFS) {
        sum = crc_word(sum, body_sum(ip + FRAME_BODY_OFS,
                                     len - FRAME_BODY_OFS));
    }
    return sum;
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
}

void
frame_write(const struct frame_template *t, uint8_t *data, uint32_t flow,
            unsigned int queue, uint64_t seq)
{
    uint8_t *ip = data + ETH_HEADER_LEN;
    size_t ip_len = t->len - ETH_HEADER_LEN;
    struct frame_tag *tag = (struct frame_tag *) (ip + FRAME_TAG_OFS);
    uint32_t sum;

    memcpy(data, t->header, FRAME_MIN_LEN);
    put_be16(ip + 14, flow);
    sum = t->ip_sum + (flow & 0xffff);
    sum = (sum & 0xffff) + (sum >> 16);
    put_be16(ip + 10, ~(sum + (sum >> 16)));
    put_be16(ip + FRAME_UDP_OFS, 1024 + (flow >> 16));

    tag->magic = FRAME_MAGIC;
    tag->port = ip[18];
    tag->queue = queue;
    tag->seq = seq;
    if (ip_len > FRAME_BODY_OFS) {
        uint8_t *body = ip + FRAME_BODY_OFS;
        size_t len = ip_len - FRAME_BODY_OFS;
        uint64_t word;
        size_t i;

        for (i = 0; i + 8 <= len; i += 8) {
            put_u64(body + i, body_word(seq, i));
        }
        word = body_word(seq, i);
        memcpy(body + i, &word, len - i);
    }
    tag->sum = frame_sum(ip, ip_len);
}

struct frame_info
frame_check(const uint8_t *data, uint32_t len, bool no_ip_sum)
{
    struct frame_info info = { .kind = FRAME_FOREIGN };
    uint32_t l3_ofs = ETH_HEADER_LEN;
    const struct frame_tag *tag;
    const uint8_t *ip;
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
    if (ip_len < FRAME_BODY_OFS || l3_ofs + ip_len > len
        || tag->sum != frame_sum(ip, ip_len)
        || (!no_ip_sum && ip_sum(ip, IP_HEADER_LEN, 0) != 0xffff)) {
        return info;
    }

    info.kind = FRAME_GOOD;
    info.queue = tag->queue;
    info.flow = (get_be16(ip + 14)
                 | (uint32_t) (uint16_t) (get_be16(ip + FRAME_UDP_OFS)
                                          - 1024) << 16);
    info.seq = tag->seq;
    return info;
}
