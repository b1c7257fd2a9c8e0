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

#include <emmintrin.h>

#include "dma.h"

/* Receive and transmit descriptors. */

/* Keeps the compiler from moving stores across; the processor does not. */
#define STORE_BARRIER() __asm__ __volatile__("" ::: "memory")

static inline unsigned int
ring_next(unsigned int i, unsigned int size)
{
    return i + 1 < size ? i + 1 : 0;
}

/* Prefetches 'n' descriptors of 'size' bytes from 'index' of the 'ring' of
 * 'ring_size', for writing. */
static inline void
prefetch_ring(const uint8_t *ring, size_t size, unsigned int ring_size,
              unsigned int index, unsigned int n)
{
    const unsigned int per_line = 64 / size;

    for (unsigned int i = 0; i < n; i += per_line) {
        __builtin_prefetch(ring + index * size, 1);
        index += per_line;
        index = index < ring_size ? index : index - ring_size;
    }
}

unsigned int
xl710_rx_reserve(struct rx_queue *q, struct rx_slot *slots, unsigned int n)
{
    unsigned int room = ring_pending(q->tail, q->head, q->size);
    unsigned int index = q->head;

    if (n > room) {
        n = room;
    }

    /* Own the cache lines of descriptors and payloads by the time they are
     * written.  The driver has written the descriptors on another core. */
    prefetch_ring(q->ring, q->desc_size, q->size, index, n);
    for (unsigned int i = 0; i < n; i++) {
        const uint8_t *desc = q->ring + index * q->desc_size;
        uint64_t pa = get_u64(desc);

        slots[i].data = dma_ptr(pa, q->buf_size);
        if (UNLIKELY(!slots[i].data)) {
            nic_rxq_fault(q, index);
            return i;
        }
        __builtin_prefetch(slots[i].data, 1);
        index = ring_next(index, q->size);
    }
    return n;
}

/* Counts how the driver had posted the descriptor at 'desc', not in its first
 * fill: the recycling callback leaves the header address 0, the rearm of the
 * vector receive functions writes the packet's address there too. */
static inline void
count_refill(struct rx_queue *q, const uint8_t *desc)
{
    if (get_u64(desc + 8)) {
        q->n.refill_rearmed++;
    } else {
        q->n.refill_recycled++;
    }
}

/* Returns the second quadword of the write-back descriptor of 'slot'. */
static inline uint64_t
rx_status(const struct rx_slot *slot)
{
    uint64_t status = (RXD_DD | (uint64_t) slot->len << RXD_LENGTH_SHIFT
                       | (uint64_t) slot->meta.ptype << RXD_PTYPE_SHIFT
                       | (uint64_t) slot->cast << RXD_UMBCAST_SHIFT);

    if (slot->last) {
        status |= RXD_EOF;
    }
    if (slot->meta.ptype >= PTYPE_IPV4_FRAGMENT) {
        status |= RXD_L3L4P;
    }
    if (slot->meta.hashed) {
        status |= RXD_FLTSTAT_RSS;
    }
    return status;
}

void
xl710_rx_commit(struct rx_queue *q, const struct rx_slot *slots,
                unsigned int n)
{
    unsigned int initial = q->initial < n ? q->initial : n;
    unsigned int index = q->head;

    q->initial -= initial;
    q->n.refill_initial += initial;

    /* In the order of the ring, as hardware does.  Drivers rely on it: they
     * load several descriptors, last to first, and count how many are done;
     * those must be the first ones. */
    STORE_BARRIER();
    for (unsigned int i = 0; i < n; i++) {
        uint8_t *desc = q->ring + index * q->desc_size;

        if (LIKELY(i >= initial)) {
            count_refill(q, desc);
        }
        if (q->desc_size == 32) {
            _mm_store_si128((__m128i *) (desc + 16), _mm_setzero_si128());
        }
        STORE_BARRIER();
        _mm_store_si128((__m128i *) desc,
                        _mm_set_epi64x(rx_status(&slots[i]),
                                       (uint64_t) slots[i].meta.hash << 32));
        STORE_BARRIER();
        index = ring_next(index, q->size);
    }
    q->head = index;
}

/* A frame being put together from descriptors. */
struct assembly {
    const uint8_t *data;        /* So far; in the host if one segment. */
    uint32_t len;               /* Bytes so far. */
    unsigned int n_segments;
    bool discard;               /* The model cannot send it. */
    bool silent;                /* Not a frame: not counted either. */
};

/* Adds the 'len' bytes at 'data' to 'a', gathering into 'copy'. */
static void
add_segment(struct assembly *a, const uint8_t *data, uint32_t len,
            uint8_t *copy)
{
    if (a->len + len > ETH_MAX_LEN) {
        a->discard = true;
        return;
    }
    if (a->n_segments++) {
        if (a->n_segments == 2) {
            memcpy(copy, a->data, a->len);
            a->data = copy;
        }
        memcpy(copy + a->len, data, len);
    } else {
        a->data = data;
    }
    a->len += len;
}

unsigned int
xl710_tx_fetch(struct port *port, struct tx_queue *q,
               struct tx_frame *frames, unsigned int n)
{
    static uint8_t copies[NIC_BURST][ETH_MAX_LEN];
    unsigned int pending = ring_pending(q->tail, q->head, q->size);
    struct assembly a = { .len = 0 };
    unsigned int index = q->head;
    unsigned int n_frames = 0;

    q->next_head = q->head;
    prefetch_ring(q->ring, TXD_SIZE, q->size, index,
                  pending < n ? pending : n);
    for (; pending && n_frames < n; pending--) {
        const uint8_t *desc = q->ring + index * TXD_SIZE;
        uint64_t pa = get_u64(desc);
        uint64_t control = get_u64(desc + 8);
        unsigned int type = control & TXD_DTYPE_MASK;
        unsigned int this_index = index;

        index = ring_next(index, q->size);
        if (LIKELY(type == TXD_DTYPE_DATA)) {
            uint32_t len = control >> TXD_BUF_SIZE_SHIFT & TXD_BUF_SIZE_MASK;
            const uint8_t *data = NULL;

            if (LIKELY(len)) {
                data = dma_ptr(pa, len);
                if (UNLIKELY(!data)) {
                    nic_txq_fault(q, this_index);
                    return n_frames;
                }
                add_segment(&a, data, len, copies[n_frames]);
            } else {
                a.discard = true;
            }
            if (!(control & TXD_CMD_EOP)) {
                continue;
            }
            if (UNLIKELY(a.discard || a.len < ETH_HEADER_LEN)) {
                q->n.tx_unsupported += !a.silent;
            } else {
                __builtin_prefetch(a.data);
                frames[n_frames++] = (struct tx_frame) {
                    .data = a.data,
                    .len = a.len,
                    .ip_csum = ((control & TXD_CMD_IIPT_MASK)
                                == TXD_CMD_IIPT_IPV4_CSUM),
                    .l4_csum = control & TXD_CMD_L4T_MASK,
                    .vlan_insert = control & TXD_CMD_IL2TAG1,
                    .vlan = control >> TXD_L2TAG1_SHIFT,
                };
            }
            a = (struct assembly) { .len = 0 };
            q->next_head = index;
        } else if (type == TXD_DTYPE_CONTEXT) {
            a.discard |= !!(control & TXD_CONTEXT_TSO);
        } else if (type == TXD_DTYPE_FILTER_PROG) {
            /* A flow director rule, and the frame after it is a dummy. */
            a.discard = a.silent = true;
        } else {
            log_debug("port %u: tx queue %u: descriptor of unknown type %u",
                      port->index, q->number, type);
            q->n.tx_unsupported++;
            a = (struct assembly) { .len = 0 };
            q->next_head = index;
        }
    }
    return n_frames;
}

void
xl710_tx_commit(struct tx_queue *q)
{
    /* Only descriptors that ask for it are written back. */
    STORE_BARRIER();
    for (unsigned int i = q->head; i != q->next_head;
         i = ring_next(i, q->size)) {
        uint8_t *control = q->ring + i * TXD_SIZE + 8;

        if (get_u64(control) & TXD_CMD_RS) {
            put_u64(control, get_u64(control) | TXD_DTYPE_DONE);
        }
    }
    q->head = q->next_head;
}
