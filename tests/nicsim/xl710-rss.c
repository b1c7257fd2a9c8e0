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

#include "xl710.h"

/* Classification of frames: packet type, RSS hash, queue. */

/* The numbers of a kind of frame. */
struct kind {
    uint8_t pctype;             /* PCTYPE_*, for the hash. */
    uint8_t ptype;              /* PTYPE_*, for the descriptor. */
};

static struct kind
frame_kind(const struct packet_headers *h)
{
    static const struct kind ipv4[] = {
        [L4_NONE] = { PCTYPE_IPV4_OTHER, PTYPE_IPV4 },
        [L4_UDP] = { PCTYPE_IPV4_UDP, PTYPE_IPV4_UDP },
        [L4_TCP] = { PCTYPE_IPV4_TCP, PTYPE_IPV4_TCP },
        [L4_SCTP] = { PCTYPE_IPV4_SCTP, PTYPE_IPV4_SCTP },
        [L4_ICMP] = { PCTYPE_IPV4_OTHER, PTYPE_IPV4_ICMP },
    };
    static const struct kind ipv6[] = {
        [L4_NONE] = { PCTYPE_IPV6_OTHER, PTYPE_IPV6 },
        [L4_UDP] = { PCTYPE_IPV6_UDP, PTYPE_IPV6_UDP },
        [L4_TCP] = { PCTYPE_IPV6_TCP, PTYPE_IPV6_TCP },
        [L4_SCTP] = { PCTYPE_IPV6_SCTP, PTYPE_IPV6_SCTP },
        [L4_ICMP] = { PCTYPE_IPV6_OTHER, PTYPE_IPV6_ICMP },
    };

    switch (h->l3) {
    case L3_IPV4:
        return (h->fragment
                ? (struct kind) { PCTYPE_IPV4_FRAGMENT, PTYPE_IPV4_FRAGMENT }
                : ipv4[h->l4]);
    case L3_IPV6:
        return (h->fragment
                ? (struct kind) { PCTYPE_IPV6_FRAGMENT, PTYPE_IPV6_FRAGMENT }
                : ipv6[h->l4]);
    case L3_ARP:
        return (struct kind) { PCTYPE_L2_PAYLOAD, PTYPE_ARP };
    case L3_NONE:
    default:
        return (struct kind) { PCTYPE_L2_PAYLOAD, PTYPE_L2 };
    }
}

/* Copies to 'input' what the input set 'inset' selects of 'all', addresses
 * and ports as packet_rss_input() gives them.  Returns its size. */
static size_t
select_input(uint64_t inset, enum l3_type l3, const uint8_t *all, size_t size,
             uint8_t *input)
{
    bool v6 = l3 == L3_IPV6;
    size_t address = v6 ? 16 : 4;
    const struct {
        uint64_t mask;          /* All of these bits select ... */
        size_t ofs;             /* ... this part of 'all'. */
        size_t len;
    } fields[] = {
        { v6 ? INSET_SRC_IP6 : INSET_SRC_IP4, 0, address },
        { v6 ? INSET_DST_IP6 : INSET_DST_IP4, address, address },
        { INSET_SRC_PORT, 2 * address, 2 },
        { INSET_DST_PORT, 2 * address + 2, 2 },
    };
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        /* A set nobody programmed is the firmware's: everything. */
        if ((!inset || (inset & fields[i].mask) == fields[i].mask)
            && fields[i].ofs + fields[i].len <= size) {
            memcpy(input + n, all + fields[i].ofs, fields[i].len);
            n += fields[i].len;
        }
    }
    return n;
}

void
xl710_classify(const struct port *port, const uint8_t *frame,
               const struct packet_headers *h, struct rx_meta *meta)
{
    const struct xl710 *chip = port->chip;
    const struct xl710_rss *rss = &chip->rss;
    struct kind kind = frame_kind(h);
    uint8_t all[RSS_INPUT_MAX], input[RSS_INPUT_MAX];
    size_t size = packet_rss_input(frame, h, all);

    *meta = (struct rx_meta) {
        .queue = chip->queue_base, .ptype = kind.ptype
    };
    if (size && rss->hena >> kind.pctype & 1
        && rss->glqf_ctl & GLQF_CTL_HTOEP) {
        uint32_t entry, n_entries;

        size = select_input(rss->inset[kind.pctype], h->l3, all, size, input);
        meta->hash = rss_hash(&chip->toeplitz, input, size);
        meta->hashed = true;

        n_entries = rss->ctl0 & PFQF_CTL_0_HASHLUTSIZE_512 ? 512 : 128;
        entry = meta->hash & (n_entries - 1);
        entry = rss->lut[entry / 4] >> entry % 4 * 8 & PFQF_HLUT_ENTRY_MASK;
        meta->queue = (meta->queue + entry) % XL710_N_QUEUES;
    }
}

void
xl710_rss_update(struct port *port)
{
    struct xl710 *chip = port->chip;
    static struct xl710_rss now;

    for (unsigned int i = 0; i < PFQF_HKEY_N; i++) {
        now.key[i] = reg_read(port, PFQF_HKEY(i));
    }
    for (unsigned int i = 0; i < PFQF_HLUT_N; i++) {
        now.lut[i] = reg_read(port, PFQF_HLUT(i));
    }
    now.ctl0 = reg_read(port, PFQF_CTL_0);
    now.glqf_ctl = reg_read(port, GLQF_CTL);
    now.hena = (reg_read(port, PFQF_HENA(0))
                | (uint64_t) reg_read(port, PFQF_HENA(1)) << 32);
    for (unsigned int i = 0; i < ARRAY_SIZE(now.inset); i++) {
        now.inset[i] = (reg_read(port, GLQF_HASH_INSET(0, i))
                        | (uint64_t) reg_read(port, GLQF_HASH_INSET(1, i))
                          << 32);
    }

    if (memcmp(&chip->rss, &now, sizeof now)) {
        if (now.hena && !(now.glqf_ctl & GLQF_CTL_HTOEP)) {
            log_info("port %u: hash functions other than Toeplitz are not "
                     "modelled: no RSS", port->index);
        }
        chip->rss = now;
        rss_set_key(&chip->toeplitz, (const uint8_t *) now.key);
        port->rx_config_seq++;
    }
}
