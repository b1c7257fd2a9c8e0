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

#include <config.h>

/* rte_eth_recycle_rx_queue_info_get() and its structure are experimental up to
 * DPDK 26.07.  This file is the only one to use them. */
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API
#endif

#include "mbuf-return.h"

#include <errno.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "coverage.h"
#include "util.h"

COVERAGE_DEFINE(mbuf_return_ring);
COVERAGE_DEFINE(mbuf_return_bulk);
COVERAGE_DEFINE(mbuf_return_single);
COVERAGE_DEFINE(mbuf_return_flush);
COVERAGE_DEFINE(mbuf_return_refill_failed);

DEFINE_EXTERN_PER_THREAD_DATA(mbuf_return_thread, NULL);

/* The tests of an mbuf read these members: all must be in the first cache
 * line, and those that mbuf_return_rearm() covers in one 8-byte word. */
BUILD_ASSERT_DECL(offsetof(struct rte_mbuf, rearm_data) % 8 == 0);
BUILD_ASSERT_DECL(offsetof(struct rte_mbuf, data_off)
                  == offsetof(struct rte_mbuf, rearm_data));
BUILD_ASSERT_DECL(offsetof(struct rte_mbuf, refcnt)
                  == offsetof(struct rte_mbuf, rearm_data) + 2);
BUILD_ASSERT_DECL(offsetof(struct rte_mbuf, nb_segs)
                  == offsetof(struct rte_mbuf, rearm_data) + 4);
BUILD_ASSERT_DECL(offsetof(struct rte_mbuf, port)
                  == offsetof(struct rte_mbuf, rearm_data) + 6);
BUILD_ASSERT_DECL(offsetof(struct rte_mbuf, ol_flags)
                  + sizeof(uint64_t) <= RTE_CACHE_LINE_MIN_SIZE);
BUILD_ASSERT_DECL(offsetof(struct rte_mbuf, pool)
                  + sizeof(void *) <= RTE_CACHE_LINE_MIN_SIZE);

/* refcnt, nb_segs and port of an mbuf as one word, in memory order.  'any' is
 * data_off, which differs from packet to packet. */
union mbuf_return_rearm {
    struct {
        uint16_t any;
        uint16_t refcnt;
        uint16_t nb_segs;
        uint16_t port;
    } f;
    uint64_t word;
};
BUILD_ASSERT_DECL(sizeof(union mbuf_return_rearm) == 8);

/* Returns the word for a plain mbuf (not shared, one segment) of 'port'. */
static inline uint64_t
mbuf_return_rearm_plain(uint16_t port)
{
    const union mbuf_return_rearm r = {
        .f = { .any = 0, .refcnt = 1, .nb_segs = 1, .port = port }
    };

    return r.word;
}

/* Returns the word for 'm'.  Reads 8 bytes of its first cache line. */
static inline uint64_t
mbuf_return_rearm(const struct rte_mbuf *m)
{
    union mbuf_return_rearm r;

    memcpy(&r, (const char *) m + offsetof(struct rte_mbuf, rearm_data),
           sizeof r);
    r.f.any = 0;
    return r.word;
}

/* Adds 'n' to 'counter', which no other thread writes. */
static inline void
mbuf_return_count(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t value;

    atomic_read_relaxed(counter, &value);
    atomic_store_relaxed(counter, value + n);
}

/* Returns a new state without any ring, for the calling thread or one to
 * come.  The owner frees it with mbuf_return_destroy(). */
struct mbuf_return *
mbuf_return_create(void)
{
    struct mbuf_return *mr = xzalloc_cacheline(sizeof *mr);

    for (size_t i = 0; i < ARRAY_SIZE(mr->bins); i++) {
        mr->bins[i] = &mr->none;
    }
    atomic_init(&mr->n_ring, 0);
    atomic_init(&mr->n_bulk, 0);
    atomic_init(&mr->n_single, 0);
    atomic_init(&mr->n_held, 0);
    return mr;
}

/* Frees 'mr', all of whose rings must be closed.  Any thread may do so once
 * the owner is gone. */
void
mbuf_return_destroy(struct mbuf_return *mr)
{
    if (mr) {
        ovs_assert(!mr->n_rings);
        free_cacheline(mr);
    }
}

/* Gives the mbufs of 'bin' to their mempool. */
static void
mbuf_return_bin_flush(struct mbuf_return *mr, struct mbuf_return_bin *bin)
{
    if (!bin->n) {
        return;
    }

    rte_pktmbuf_free_bulk(bin->mbufs, bin->n);
    mbuf_return_count(&mr->n_bulk, bin->n);
    mbuf_return_count(&mr->n_held, -(uint64_t) bin->n);
    COVERAGE_ADD(mbuf_return_bulk, bin->n);
    COVERAGE_INC(mbuf_return_flush);
    bin->n = 0;
}

/* Gives all mbufs that 'mr' holds to their mempools.  The calling thread must
 * own 'mr'. */
void
mbuf_return_flush(struct mbuf_return *mr)
{
    for (size_t i = 0; i < ARRAY_SIZE(mr->bins); i++) {
        mbuf_return_bin_flush(mr, mr->bins[i]);
    }
}

/* Stores in 'stats' what became of the mbufs of 'mr'.  Any thread may call
 * this while 'mr' is in use. */
void
mbuf_return_get_stats(const struct mbuf_return *mr_,
                      struct mbuf_return_stats *stats)
{
    struct mbuf_return *mr = CONST_CAST(struct mbuf_return *, mr_);

    atomic_read_relaxed(&mr->n_ring, &stats->ring);
    atomic_read_relaxed(&mr->n_bulk, &stats->bulk);
    atomic_read_relaxed(&mr->n_single, &stats->single);
    atomic_read_relaxed(&mr->n_held, &stats->held);
}

/* Returns true if the state of 'm' allows that it is freed in bulk whatever
 * port it is of. */
static bool
mbuf_return_is_plain(const struct rte_mbuf *m)
{
    return mbuf_return_rearm(m) == mbuf_return_rearm_plain(m->port)
           && RTE_MBUF_DIRECT(m);
}

/* Returns the bin of 'mr' for 'm', which may take nothing. */
static inline struct mbuf_return_bin *
mbuf_return_find_bin(struct mbuf_return *mr, const struct rte_mbuf *m)
{
    return m->port < RTE_MAX_ETHPORTS ? mr->bins[m->port] : &mr->none;
}

/* Implements mbuf_return_free_bulk() for the thread that owns 'mr'. */
void
mbuf_return_free_bulk__(struct mbuf_return *mr, struct rte_mbuf **pkts,
                        size_t n)
{
    size_t n_single = 0;
    size_t n_held = 0;
    size_t n_bulk = 0;
    size_t i = 0;

    while (i < n) {
        /* One bin at a time: most batches are of one port.  Local copies,
         * since stores of mbufs could alias the bin's members. */
        struct mbuf_return_bin *bin = mbuf_return_find_bin(mr, pkts[i]);
        const struct rte_mempool *mp = bin->mp;
        const uint64_t rearm = bin->rearm;
        struct rte_mbuf **slot = &bin->mbufs[bin->n];
        struct rte_mbuf **end = &bin->mbufs[bin->max];
        struct rte_mbuf **start = slot;

        while (i < n && slot < end && mbuf_return_rearm(pkts[i]) == rearm
               && RTE_MBUF_DIRECT(pkts[i]) && pkts[i]->pool == mp) {
            *slot++ = pkts[i++];
        }
        bin->n += slot - start;
        n_held += slot - start;

        /* What stopped the run is freed, unless it has another bin. */
        if (i < n && (slot == start
                      || mbuf_return_find_bin(mr, pkts[i]) == bin)) {
            struct rte_mbuf *m = pkts[i++];

            if (mbuf_return_is_plain(m)) {
                pkts[n_bulk++] = m;
            } else {
                rte_pktmbuf_free(m);
                n_single++;
            }
        }
    }

    if (n_held) {
        mbuf_return_count(&mr->n_held, n_held);
    }
    if (n_bulk) {
        rte_pktmbuf_free_bulk(pkts, n_bulk);
        mbuf_return_count(&mr->n_bulk, n_bulk);
        COVERAGE_ADD(mbuf_return_bulk, n_bulk);
    }
    if (n_single) {
        mbuf_return_count(&mr->n_single, n_single);
        COVERAGE_ADD(mbuf_return_single, n_single);
    }
}

/* Stops filling the bin of 'ring' if no other ring needs it. */
static void
mbuf_return_ring_retire(struct mbuf_return_ring *ring)
{
    struct mbuf_return_bin *bin = ring->bin;

    ring->refill = UINT16_MAX;
    if (!--bin->n_active) {
        bin->max = 0;
        mbuf_return_bin_flush(ring->mr, bin);
    }
}

/* Implements mbuf_return_refill(): moves as many whole portions from the bin
 * to 'ring' as there are in the one and as there is room for in the other.
 *
 * The drivers of i40e and ixgbe count the portion they are given from
 * 'refill_head' without a look at the end of the ring.  The ring's size is a
 * multiple of the portion and only whole portions are ever refilled, by us or
 * by the driver, so a portion never crosses the end.
 *
 * A head that equals the tail is a ring without room, as after the driver's
 * first fill.  It may also be a ring that is used up to the last mbuf, which
 * happens after the mempool ran dry; then the driver must refill it, and
 * it does as soon as mbufs that the bin has no place for are back in the
 * mempool. */
void
mbuf_return_refill__(struct mbuf_return_ring *ring)
{
    const struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ring->port_id];
    struct mbuf_return_bin *bin = ring->bin;
    const uint16_t refill = ring->refill;
    unsigned int n = 0;

    while (bin->n >= refill) {
        uint16_t head = *ring->refill_head;
        uint16_t room = (*ring->receive_tail - head) & ring->mask;

        if (room < refill) {
            break;
        }

        /* A stopped port has no callback.  The driver then neither receives
         * anything, and the bin is emptied when the ring is closed. */
        if (OVS_UNLIKELY(!ops->recycle_rx_descriptors_refill)) {
            break;
        }

        memcpy(&ring->mbufs[head], &bin->mbufs[bin->n - refill],
               refill * sizeof bin->mbufs[0]);
        ops->recycle_rx_descriptors_refill(ops->rxq.data[ring->queue_id],
                                           refill);

        /* A callback that does nothing leaves the slots consumed: the driver
         * will overwrite them, so the mbufs are still the bin's. */
        if (OVS_UNLIKELY(*ring->refill_head == head)) {
            COVERAGE_INC(mbuf_return_refill_failed);
            atomic_store_relaxed(&ring->failed, true);
            mbuf_return_ring_retire(ring);
            break;
        }

        bin->n -= refill;
        n += refill;
    }

    if (n) {
        mbuf_return_count(&ring->n_refilled, n);
        mbuf_return_count(&ring->mr->n_ring, n);
        mbuf_return_count(&ring->mr->n_held, -(uint64_t) n);
        COVERAGE_ADD(mbuf_return_ring, n);
    }
}

/* Returns the bin of 'mr' for the rings that 'params' describes, which is new
 * if there is none yet.  Returns NULL and stores the reason in '*whyp' if the
 * port's other rings do not go together with this one. */
static struct mbuf_return_bin *
mbuf_return_bin_get(struct mbuf_return *mr,
                    const struct mbuf_return_ring_params *params, char **whyp)
{
    struct mbuf_return_bin *bin = mr->bins[params->port_id];

    if (bin == &mr->none) {
        bin = xzalloc_cacheline(sizeof *bin);
        bin->rearm = mbuf_return_rearm_plain(params->port_id);
        bin->mp = params->mp;
        bin->refill = params->refill;
        bin->max = MBUF_RETURN_BIN_REFILLS * params->refill;
        mr->bins[params->port_id] = bin;
    } else if (bin->mp != params->mp) {
        *whyp = xasprintf("mempool '%s' is not that of the port's other rx "
                          "queues, '%s'", params->mp->name, bin->mp->name);
        return NULL;
    } else if (bin->refill != params->refill) {
        *whyp = xasprintf("rx ring is refilled by %"PRIu16" mbufs, the "
                          "port's other rx queues by %"PRIu16,
                          params->refill, bin->refill);
        return NULL;
    } else if (!bin->max) {
        *whyp = xstrdup("the driver's refill callback does nothing on "
                        "another rx queue of the port");
        return NULL;
    }

    bin->n_rings++;
    bin->n_active++;
    return bin;
}

/* Makes the calling thread, which must own 'mr', return mbufs to the Rx ring
 * that 'params' describes.  Returns the ring, to be closed by
 * mbuf_return_ring_close() before the queue changes in any way, or NULL if the
 * ring is unfit, with the reason in words in '*whyp', which the caller
 * frees. */
struct mbuf_return_ring *
mbuf_return_ring_create(struct mbuf_return *mr,
                        const struct mbuf_return_ring_params *params,
                        char **whyp)
{
    struct mbuf_return_ring *ring;
    struct mbuf_return_bin *bin;

    *whyp = NULL;
    if (params->port_id >= RTE_MAX_ETHPORTS) {
        *whyp = xasprintf("no DPDK port %"PRIu16, params->port_id);
    } else if (!params->mp) {
        *whyp = xstrdup("rx queue has no mempool");
    } else if (!params->mbufs || !params->refill_head
               || !params->receive_tail) {
        *whyp = xstrdup("driver does not tell where its rx ring is");
    } else if (!params->refill) {
        *whyp = xstrdup("driver does not tell by how many mbufs it refills "
                        "its rx ring");
    } else if (params->refill > MBUF_RETURN_MAX_REFILL) {
        *whyp = xasprintf("rx ring is refilled by %"PRIu16" mbufs, more than "
                          "%d", params->refill, MBUF_RETURN_MAX_REFILL);
    } else if (!is_pow2(params->size)) {
        *whyp = xasprintf("rx ring of %"PRIu16" is not a power of two",
                          params->size);
    } else if (params->size < 4 * params->refill) {
        *whyp = xasprintf("rx ring of %"PRIu16" is smaller than 4 times %"
                          PRIu16", by which the driver refills it",
                          params->size, params->refill);
    } else if (!is_pow2(params->refill)
               || *params->refill_head % params->refill) {
        *whyp = xasprintf("rx ring is not refilled in whole portions of %"
                          PRIu16" mbufs", params->refill);
    }
    if (*whyp) {
        return NULL;
    }

    bin = mbuf_return_bin_get(mr, params, whyp);
    if (!bin) {
        return NULL;
    }

    ring = xzalloc_cacheline(sizeof *ring);
    ring->bin = bin;
    ring->mbufs = params->mbufs;
    ring->refill_head = params->refill_head;
    ring->receive_tail = params->receive_tail;
    ring->mask = params->size - 1;
    ring->refill = params->refill;
    ring->port_id = params->port_id;
    ring->queue_id = params->queue_id;
    ring->mr = mr;
    atomic_init(&ring->n_refilled, 0);
    atomic_init(&ring->failed, false);

    mr->n_rings++;
    *mbuf_return_thread_get() = mr;
    return ring;
}

/* Returns NULL if Rx queue 'queue_id' of DPDK port 'port_id', which is
 * started, receives by a function that shares its ring's state with a refill
 * callback, else the reason in words, which the caller frees.
 *
 * Drivers set their callbacks when they choose a vector Rx function and do not
 * take them back when they later choose another, so the name of the function
 * in use decides where the driver tells it (i40e always; ixgbe since DPDK
 * 25.07, before that its callback is only ever set with the right function,
 * unless the port was reconfigured).  The AVX512 functions have no
 * callback. */
static char *
mbuf_return_check_rx_function(uint16_t port_id, uint16_t queue_id)
{
    struct rte_eth_burst_mode mode;

    memset(&mode, 0, sizeof mode);
    if (!rte_eth_rx_burst_mode_get(port_id, queue_id, &mode)
        && (strncmp(mode.info, "Vector ", strlen("Vector "))
            || strstr(mode.info, "AVX512"))) {
        return xasprintf("rx path '%s' has no refill callback", mode.info);
    }
    if (!rte_eth_fp_ops[port_id].recycle_rx_descriptors_refill) {
        return xasprintf("rx path%s%s has no refill callback",
                         mode.info[0] ? " " : "", mode.info);
    }
    return NULL;
}

/* Makes the calling thread, which must own 'mr' and be the only one to receive
 * from Rx queue 'queue_id' of DPDK port 'port_id', return mbufs to that queue.
 * Returns the ring, to be closed by mbuf_return_ring_close() before the port
 * is stopped or the queue changes in any other way, or NULL if that is not
 * possible, with the reason in words in '*whyp', which the caller frees. */
struct mbuf_return_ring *
mbuf_return_ring_open(struct mbuf_return *mr, uint16_t port_id,
                      uint16_t queue_id, char **whyp)
{
    struct rte_eth_recycle_rxq_info info;
    struct rte_eth_rxq_info rxq_info;
    struct rte_eth_dev_info dev_info;
    int error;

    *whyp = NULL;
    if (rte_lcore_id() == LCORE_ID_ANY) {
        *whyp = xstrdup("PMD thread has no DPDK lcore id");
        return NULL;
    }

    error = rte_eth_dev_info_get(port_id, &dev_info);
    if (error) {
        *whyp = xasprintf("DPDK port %"PRIu16" does not answer: %s", port_id,
                          rte_strerror(-error));
        return NULL;
    }

    error = rte_eth_rx_queue_info_get(port_id, queue_id, &rxq_info);
    if (error) {
        *whyp = xasprintf("driver %s does not tell about its rx queues: %s",
                          dev_info.driver_name, rte_strerror(-error));
        return NULL;
    }
    if (rxq_info.queue_state != RTE_ETH_QUEUE_STATE_STARTED) {
        *whyp = xstrdup("DPDK port stopped");
        return NULL;
    }

    memset(&info, 0, sizeof info);
    error = rte_eth_recycle_rx_queue_info_get(port_id, queue_id, &info);
    if (error) {
        *whyp = xasprintf("driver %s has no refill callback",
                          dev_info.driver_name);
        return NULL;
    }

    *whyp = mbuf_return_check_rx_function(port_id, queue_id);
    if (*whyp) {
        return NULL;
    }

    const struct mbuf_return_ring_params params = {
        .port_id = port_id,
        .queue_id = queue_id,
        .mp = info.mp,
        .mbufs = info.mbuf_ring,
        .refill_head = info.refill_head,
        .receive_tail = info.receive_tail,
        .size = info.mbuf_ring_size,
        .refill = info.refill_requirement,
    };
    return mbuf_return_ring_create(mr, &params, whyp);
}

/* Ends the return of mbufs to 'ring' and frees it.  The thread that owns the
 * ring must call this while the port is still started.  If it was the last
 * ring of its port, the mbufs in its bin go to the mempool. */
void
mbuf_return_ring_close(struct mbuf_return_ring *ring)
{
    struct mbuf_return_bin *bin = ring->bin;
    struct mbuf_return *mr = ring->mr;

    if (!mbuf_return_ring_failed(ring)) {
        mbuf_return_ring_retire(ring);
    }
    if (!--bin->n_rings) {
        ovs_assert(!bin->n);
        mr->bins[ring->port_id] = &mr->none;
        free_cacheline(bin);
    }
    if (!--mr->n_rings) {
        *mbuf_return_thread_get() = NULL;
    }
    free_cacheline(ring);
}

/* Returns the number of mbufs that went into 'ring' so far.  Any thread may
 * call this. */
uint64_t
mbuf_return_ring_n_refilled(const struct mbuf_return_ring *ring)
{
    uint64_t n;

    atomic_read_relaxed(&CONST_CAST(struct mbuf_return_ring *,
                                    ring)->n_refilled, &n);
    return n;
}

/* Returns true if the driver was found not to take mbufs into 'ring'.  Any
 * thread may call this. */
bool
mbuf_return_ring_failed(const struct mbuf_return_ring *ring)
{
    bool failed;

    atomic_read_relaxed(&CONST_CAST(struct mbuf_return_ring *, ring)->failed,
                        &failed);
    return failed;
}
