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

#include <stdio.h>
#include <stdlib.h>

#include "frame.h"
#include "nic.h"
#include "rss.h"
#include "stream.h"
#include "util.h"
#include "xl710.h"

/* Unit tests of nicsim's parts.  "test-nicsim NAME" runs one of them and ends
 * with status 0 if it passes. */

#define CHECK(CONDITION)                                                \
    do {                                                                \
        if (!(CONDITION)) {                                             \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__,      \
                    __LINE__, #CONDITION);                              \
            exit(1);                                                    \
        }                                                               \
    } while (0)

#define CHECK_EQ(A, B)                                                  \
    do {                                                                \
        unsigned long long a_ = (A), b_ = (B);                          \
                                                                        \
        if (a_ != b_) {                                                 \
            fprintf(stderr, "%s:%d: %s is %#llx, %s is %#llx\n",        \
                    __FILE__, __LINE__, #A, a_, #B, b_);                \
            exit(1);                                                    \
        }                                                               \
    } while (0)

/* The vectors Microsoft publishes in "Verifying the RSS Hash Calculation". */
static void
test_rss(void)
{
    static const uint8_t key[RSS_KEY_SIZE] = {
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
        0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
        0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
        0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
    };
    static const struct {
        uint8_t input[12];      /* Source, destination, and their ports. */
        uint32_t with_ports;
        uint32_t addresses;
    } v4[] = {
        { { 66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6 },
          0x51ccc178, 0x323e8fc2 },
        { { 199, 92, 111, 2, 65, 69, 140, 83, 0x37, 0x96, 0x12, 0x83 },
          0xc626b0ea, 0xd718262a },
        { { 24, 19, 198, 95, 12, 22, 207, 184, 0x32, 0x62, 0x94, 0x88 },
          0x5c2b394a, 0xd2d0a5de },
        { { 38, 27, 205, 30, 209, 142, 163, 6, 0xbc, 0x64, 0x08, 0xa9 },
          0xafc7327f, 0x82989176 },
        { { 153, 39, 163, 191, 202, 188, 127, 2, 0xac, 0xdb, 0x05, 0x17 },
          0x10e828a2, 0x5d1809c5 },
    };
    static const struct {
        uint8_t input[36];
        uint32_t with_ports;
        uint32_t addresses;
    } v6 = {
        { 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff,
          0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07,
          0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x00, 0x03,
          0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
          0x0a, 0xea, 0x06, 0xe6 },
        0x40207d3d, 0x2cc18cd5
    };
    static struct rss rss;

    rss_set_key(&rss, key);
    for (size_t i = 0; i < ARRAY_SIZE(v4); i++) {
        CHECK_EQ(rss_hash(&rss, v4[i].input, 12), v4[i].with_ports);
        CHECK_EQ(rss_hash(&rss, v4[i].input, 8), v4[i].addresses);
    }
    CHECK_EQ(rss_hash(&rss, v6.input, 36), v6.with_ports);
    CHECK_EQ(rss_hash(&rss, v6.input, 32), v6.addresses);
    CHECK_EQ(rss_hash(&rss, v6.input, 0), 0);
}

/* Sets bits of a queue context the way it is defined, one by one. */
static void
set_bits(uint8_t *bytes, unsigned int lsb, unsigned int width,
         uint64_t value)
{
    for (unsigned int i = 0; i < width; i++) {
        unsigned int bit = lsb + i;

        bytes[bit / 8] &= ~(1u << bit % 8);
        bytes[bit / 8] |= (value >> i & 1) << bit % 8;
    }
}

static void
test_bit_field(void)
{
    const uint64_t base = UINT64_C(0x123456789abcde);
    uint8_t context[HMC_RX_CONTEXT_SIZE];

    /* All ones, so that a bit too many shows. */
    memset(context, 0xff, sizeof context);
    set_bits(context, HMC_BASE, base);
    set_bits(context, HMC_RX_QLEN, 0x1555);
    set_bits(context, HMC_RX_DBUFF, 16);
    set_bits(context, HMC_RX_DSIZE, 0);
    set_bits(context, HMC_RX_RXMAX, 0x2aaa);
    CHECK_EQ(bit_field(context, HMC_BASE), base);
    CHECK_EQ(bit_field(context, HMC_RX_QLEN), 0x1555);
    CHECK_EQ(bit_field(context, HMC_RX_DBUFF), 16);
    CHECK_EQ(bit_field(context, HMC_RX_DSIZE), 0);
    CHECK_EQ(bit_field(context, HMC_RX_RXMAX), 0x2aaa);
    CHECK_EQ(bit_field(context, 0, 32), UINT32_MAX);
    CHECK_EQ(bit_field(context, 0, 64) >> 32,
             (uint32_t) base);

    /* And a number that stands as it would in memory. */
    put_u64(context, UINT64_C(0x0123456789abcdef));
    CHECK_EQ(bit_field(context, 0, 64), UINT64_C(0x0123456789abcdef));
    CHECK_EQ(bit_field(context, 4, 8), 0xde);
    CHECK_EQ(bit_field(context, 60, 4), 0x0);
    CHECK_EQ(bit_field(context, 56, 8), 0x01);
}

/* The example of RFC 1071, and an IP header with a known checksum. */
static void
test_ip_sum(void)
{
    static const uint8_t words[] = {
        0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7
    };
    static const uint8_t header[] = {
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
        0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7
    };
    static const uint8_t ones[64] = { [0 ... 63] = 0xff };
    uint8_t copy[sizeof header];

    CHECK_EQ(ip_sum(words, sizeof words, 0), 0xddf2);
    CHECK_EQ(ip_sum(words, 7, 0), 0xdcfb);
    CHECK_EQ(ip_sum(words, 0, 0x1ffff), 0x0001);
    CHECK_EQ(ip_sum(ones, sizeof ones, 0), 0xffff);
    CHECK_EQ(ip_sum(header, sizeof header, 0), 0xffff);

    memcpy(copy, header, sizeof copy);
    put_be16(copy + 10, 0);
    CHECK_EQ((uint16_t) ~ip_sum(copy, sizeof copy, 0), 0xb861);
}

/* Headers of all sorts, and cut off at every length. */
static void
test_packet(void)
{
    uint8_t frame[128] = { 0 };
    uint8_t input[RSS_INPUT_MAX];
    struct packet_headers h;

    put_be16(frame + 12, ETH_TYPE_ARP);
    CHECK_EQ(packet_parse(frame, 60).l3, L3_ARP);
    put_be16(frame + 12, 0x88cc);
    CHECK_EQ(packet_parse(frame, 60).l3, L3_NONE);

    put_be16(frame + 12, ETH_TYPE_IP);
    frame[14] = 0x46;           /* With four bytes of options. */
    frame[14 + 9] = IP_PROTO_TCP;
    memcpy(frame + 14 + 12, "\1\2\3\4\5\6\7\10", 8);
    memcpy(frame + 14 + 24, "\11\12\13\14", 4);
    h = packet_parse(frame, 60);
    CHECK_EQ(h.l3, L3_IPV4);
    CHECK_EQ(h.l4, L4_TCP);
    CHECK_EQ(h.l3_ofs, 14);
    CHECK_EQ(h.l4_ofs, 38);
    CHECK_EQ(packet_rss_input(frame, &h, input), 12);
    CHECK(!memcmp(input, "\1\2\3\4\5\6\7\10\11\12\13\14", 12));

    /* Fragments have no ports. */
    put_be16(frame + 14 + 6, 0x2000);
    h = packet_parse(frame, 60);
    CHECK(h.fragment);
    CHECK_EQ(h.l4, L4_NONE);
    CHECK_EQ(packet_rss_input(frame, &h, input), 8);
    put_be16(frame + 14 + 6, 0x4000);
    CHECK(!packet_parse(frame, 60).fragment);

    /* Two tags, then IPv6. */
    memset(frame, 0, sizeof frame);
    put_be16(frame + 12, ETH_TYPE_QINQ);
    put_be16(frame + 16, ETH_TYPE_VLAN);
    put_be16(frame + 20, ETH_TYPE_IPV6);
    frame[22] = 0x60;
    frame[22 + 6] = IP_PROTO_UDP;
    h = packet_parse(frame, 80);
    CHECK_EQ(h.l3, L3_IPV6);
    CHECK_EQ(h.l4, L4_UDP);
    CHECK_EQ(h.l3_ofs, 22);
    CHECK_EQ(h.l4_ofs, 62);
    CHECK_EQ(packet_rss_input(frame, &h, input), 36);

    for (size_t len = 0; len <= 80; len++) {
        h = packet_parse(frame, len);
        CHECK(h.l3_ofs <= len && h.l4_ofs <= len);
        CHECK_EQ(h.l3 == L3_IPV6, len >= 62);
        CHECK_EQ(h.l4 == L4_UDP, len >= 70);
    }

    CHECK_EQ(packet_cast((const uint8_t *) "\x02\xff\xff\xff\xff\xff"),
             CAST_UNICAST);
    CHECK_EQ(packet_cast((const uint8_t *) "\x33\x33\xff\xff\xff\xff"),
             CAST_MULTICAST);
    CHECK_EQ(packet_cast((const uint8_t *) "\xff\xff\xff\xff\xff\xff"),
             CAST_BROADCAST);

    CHECK_EQ(packet_size_class(60), 0);
    CHECK_EQ(packet_size_class(61), 1);
    CHECK_EQ(packet_size_class(123), 1);
    CHECK_EQ(packet_size_class(124), 2);
    CHECK_EQ(packet_size_class(1518), 5);
    CHECK_EQ(packet_size_class(1519), 6);
}

/* Makes the frame for 'flow' and 'seq' in 'data', surrounded by guards. */
static uint8_t *
make_frame(uint8_t data[FRAME_MAX_LEN + 128], uint32_t len, uint32_t flow,
           uint64_t seq)
{
    static const uint8_t mac[ETH_ALEN] = { 2, 3, 4, 5, 6, 7 };
    struct frame_template t;

    memset(data, 0xee, FRAME_MAX_LEN + 128);
    frame_template_init(&t, len, 1, mac);
    frame_write(&t, data + 64, flow, 7, seq);
    return data + 64;
}

/* Frames of all sizes are valid, stay within bounds and are recognized. */
static void
test_frame_write(void)
{
    static const uint32_t flows[] = {
        0, 1, 255, 65535, 65536, FRAME_MAX_FLOWS - 1
    };
    static uint8_t data[FRAME_MAX_LEN + 128];

    for (uint32_t len = FRAME_MIN_LEN; len <= FRAME_MAX_LEN; len++) {
        uint32_t flow = flows[len % ARRAY_SIZE(flows)];
        uint64_t seq = (UINT64_C(1) << 40) + len;
        uint8_t *frame = make_frame(data, len, flow, seq);
        struct packet_headers h = packet_parse(frame, len);
        struct frame_info info;

        CHECK_EQ(frame[-1], 0xee);
        CHECK_EQ(frame[len], 0xee);
        CHECK_EQ(h.l4, L4_UDP);
        CHECK_EQ(get_be16(frame + 16), len - ETH_HEADER_LEN);
        CHECK_EQ(get_be16(frame + h.l4_ofs + 4),
                 len - ETH_HEADER_LEN - IP_HEADER_LEN);
        CHECK_EQ(ip_sum(frame + 14, IP_HEADER_LEN, 0), 0xffff);

        info = frame_check(frame, len, false);
        CHECK_EQ(info.kind, FRAME_GOOD);
        CHECK_EQ(info.port, 1);
        CHECK_EQ(info.queue, 7);
        CHECK_EQ(info.flow, flow);
        CHECK_EQ(info.seq, seq);
    }
}

/* Each single changed bit is noticed, but for those that may change. */
static void
test_frame_check(void)
{
    static const uint32_t lens[] = { 60, 61, 67, 68, 92, 100, 1514 };
    static uint8_t data[FRAME_MAX_LEN + 128];

    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        uint32_t len = lens[i];
        uint8_t *frame = make_frame(data, len, 3, 5);

        for (size_t bit = 0; bit < len * 8; bit++) {
            size_t byte = bit / 8;
            struct frame_info info;
            enum frame_kind kind;

            frame[byte] ^= 1u << bit % 8;
            info = frame_check(frame, len, false);
            kind = (byte < 12 ? FRAME_GOOD          /* MAC addresses. */
                    : byte == 40 || byte == 41 ? FRAME_GOOD /* UDP sum. */
                    : byte >= 42 && byte < 46 ? FRAME_FOREIGN   /* Magic. */
                    : FRAME_CORRUPT);
            if (byte == 12 || byte == 13) {
                /* Of another EtherType; not looked at unless VLAN. */
                kind = info.kind;
            }
            CHECK_EQ(info.kind, kind);
            frame[byte] ^= 1u << bit % 8;
        }

        /* A router may change TOS and TTL, but then the sum too. */
        frame[15] = 0x2e;
        frame[22]--;
        CHECK_EQ(frame_check(frame, len, false).kind, FRAME_CORRUPT);
        CHECK_EQ(frame_check(frame, len, true).kind, FRAME_GOOD);
        put_be16(frame + 24, 0);
        put_be16(frame + 24, ~ip_sum(frame + 14, IP_HEADER_LEN, 0));
        CHECK_EQ(frame_check(frame, len, false).kind, FRAME_GOOD);

        /* A VLAN tag may come; the end may not get lost. */
        memmove(frame - 4, frame, 12);
        put_be16(frame + 8, ETH_TYPE_VLAN);
        put_be16(frame + 10, 42);
        CHECK_EQ(frame_check(frame - 4, len + 4, false).kind, FRAME_GOOD);
        CHECK(frame_check(frame - 4, len + 3, false).kind != FRAME_GOOD);
    }
}

/* Two frames mixed, as when a buffer is reused too soon. */
static void
test_frame_mixed(void)
{
    static uint8_t a[FRAME_MAX_LEN + 128], b[FRAME_MAX_LEN + 128];
    const uint32_t len = 1000;
    uint8_t *first = make_frame(a, len, 3, 100);
    uint8_t *second = make_frame(b, len, 3, 164);

    for (uint32_t i = 60; i < len; i += 64) {
        memcpy(first + i, second + i, len - i);
        CHECK_EQ(frame_check(first, len, false).kind, FRAME_CORRUPT);
        first = make_frame(a, len, 3, 100);
    }
}

static void
test_stream(void)
{
    struct stream *s = stream_create();
    uint64_t last = 0;

    /* In order. */
    for (unsigned int i = 0; i < 1000; i++) {
        CHECK_EQ(stream_send(s), i);
    }
    for (unsigned int i = 0; i < 990; i++) {
        stream_return(s, i, &last);
    }
    CHECK_EQ(s->n.gen_returned, 990);
    CHECK_EQ(stream_outstanding(s), 10);
    CHECK_EQ(s->n.reordered, 0);

    /* Out of order, twice, never sent. */
    stream_return(s, 995, &last);
    stream_return(s, 990, &last);
    CHECK_EQ(s->n.reordered, 1);
    stream_return(s, 996, &last);
    CHECK_EQ(s->n.reordered, 1);
    stream_return(s, 995, &last);
    stream_return(s, 0, &last);
    stream_return(s, 1000, &last);
    CHECK_EQ(s->n.duplicate, 3);
    CHECK_EQ(stream_outstanding(s), 7);

    /* Lost after STREAM_MARKS ticks, not before. */
    for (unsigned int i = 0; i < STREAM_MARKS; i++) {
        stream_tick(s, false);
        CHECK_EQ(s->n.gen_lost, 0);
    }
    stream_tick(s, false);
    CHECK_EQ(s->n.gen_lost, 7);
    CHECK_EQ(stream_outstanding(s), 0);

    /* Late: lost no longer.  And once only. */
    stream_return(s, 991, &last);
    CHECK_EQ(s->n.gen_lost, 6);
    CHECK_EQ(s->n.late, 1);
    stream_return(s, 991, &last);
    CHECK_EQ(s->n.duplicate, 4);
    CHECK_EQ(s->n.gen_sent,
             s->n.gen_returned + s->n.gen_lost + stream_outstanding(s));
    free(s);
}

/* More frames under way than the window remembers. */
static void
test_stream_window(void)
{
    struct stream *s = stream_create();
    uint64_t last = 0;

    for (unsigned int i = 0; i < STREAM_WINDOW; i++) {
        stream_send(s);
    }
    CHECK_EQ(s->n.gen_lost, 0);
    for (unsigned int i = 0; i < 100; i++) {
        stream_send(s);
    }
    CHECK_EQ(s->n.gen_lost, 100);
    CHECK_EQ(stream_outstanding(s), STREAM_WINDOW);

    /* Frame 99 is forgotten, frame 100 not. */
    stream_return(s, 99, &last);
    CHECK_EQ(s->n.duplicate, 1);
    stream_return(s, 100, &last);
    CHECK_EQ(s->n.gen_returned, 1);

    stream_flush(s);
    CHECK_EQ(s->n.gen_lost, STREAM_WINDOW + 99);
    CHECK_EQ(stream_outstanding(s), 0);

    /* Goes on for many windows. */
    for (unsigned int i = 0; i < 5 * STREAM_WINDOW; i++) {
        uint64_t seq = stream_send(s);

        if (i % 1000) {
            stream_return(s, seq, &last);
        }
        if (i % 7777 == 0) {
            stream_tick(s, false);
        }
    }
    stream_flush(s);
    CHECK_EQ(s->n.gen_returned, 1 + 5 * STREAM_WINDOW
                                - (5 * STREAM_WINDOW + 999) / 1000);
    CHECK_EQ(s->n.gen_sent, s->n.gen_returned + s->n.gen_lost);
    free(s);
}

static void
test_stream_blind(void)
{
    struct stream *s = stream_create();

    for (unsigned int i = 0; i < 100; i++) {
        stream_send_blind(s);
    }
    for (unsigned int i = 0; i < 90; i++) {
        stream_return_blind(s);
    }
    for (unsigned int i = 0; i <= STREAM_MARKS; i++) {
        stream_tick(s, true);
    }
    CHECK_EQ(s->n.gen_lost, 10);
    for (unsigned int i = 0; i < 11; i++) {
        stream_return_blind(s);
    }
    CHECK_EQ(s->n.late, 10);
    CHECK_EQ(s->n.duplicate, 1);
    CHECK_EQ(s->n.gen_returned, 100);

    stream_send_blind(s);
    stream_flush(s);
    CHECK_EQ(s->n.gen_lost, 1);
    CHECK_EQ(stream_outstanding(s), 0);
    free(s);
}

/* Ring arithmetic with all positions of head and doorbell. */
static void
test_ring(void)
{
    volatile uint32_t tail;

    for (unsigned int head = 0; head < 8; head++) {
        for (unsigned int n = 0; n < 8; n++) {
            tail = (head + n) % 8;
            CHECK_EQ(ring_pending(&tail, head, 8), n);
        }
        tail = 8;
        CHECK_EQ(ring_pending(&tail, head, 8), 0);
        tail = UINT32_MAX;
        CHECK_EQ(ring_pending(&tail, head, 8), 0);
    }
}

int
main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        { "rss", test_rss },
        { "bit-field", test_bit_field },
        { "ip-sum", test_ip_sum },
        { "packet", test_packet },
        { "frame-write", test_frame_write },
        { "frame-check", test_frame_check },
        { "frame-mixed", test_frame_mixed },
        { "stream", test_stream },
        { "stream-window", test_stream_window },
        { "stream-blind", test_stream_blind },
        { "ring", test_ring },
    };

    for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(tests); i++) {
        if (!strcmp(argv[1], tests[i].name)) {
            tests[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: test-nicsim TEST\ntests:");
    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        fprintf(stderr, " %s", tests[i].name);
    }
    fputc('\n', stderr);
    return 2;
}
