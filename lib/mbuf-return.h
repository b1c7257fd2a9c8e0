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

#ifndef MBUF_RETURN_H
#define MBUF_RETURN_H 1

/* Return to ring
 * ==============
 *
 * A PMD thread that is done with an mbuf puts it back into the Rx ring of the
 * NIC port it came from, without a detour through the mempool:
 *
 *    - mbuf_return_free_bulk() takes the place of rte_pktmbuf_free_bulk().  It
 *      sorts mbufs into the calling thread's bin for their port, and frees
 *      what may not go back to a ring.
 *
 *    - mbuf_return_refill(), called right before rte_eth_rx_burst(), moves
 *      mbufs from the bin to the Rx ring, in exactly the portions in which the
 *      driver refills its ring, through the driver's own
 *      recycle_rx_descriptors_refill callback.
 *
 * Cost: one 8-byte load, two 8-byte loads from the same cache line and one
 * store per mbuf; one load, one store per mbuf for the refill.  The second
 * cache line of an mbuf is never touched, there is no lock and no atomic
 * read-modify-write.  A thread that does not return mbufs pays one
 * thread-local load and one branch per batch.
 *
 *
 * Ownership and threads
 * ---------------------
 *
 * A struct mbuf_return, its bins and its rings belong to one PMD thread: that
 * which polls the rings.  Only counters may be read by other threads.
 *
 * An mbuf in a bin is owned by the bin and counts as "in use" in its mempool.
 * A bin holds at most two portions.  It is emptied into the mempool by
 * mbuf_return_flush() and when the last ring of its port is closed.
 *
 *
 * Which mbufs go back
 * -------------------
 *
 * An mbuf enters a bin only if it is what the driver itself would take from
 * the mempool: not shared (refcnt 1), direct and without an external buffer,
 * a single segment, and of the very mempool the ring is filled from.  The
 * driver's Rx path rewrites data_off, refcnt, nb_segs, port and ol_flags of
 * each mbuf it delivers, 'next' is NULL wherever nb_segs is 1 (rte_mbuf.h of
 * DPDK 21.11 and later). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mbuf_return;
struct mbuf_return_ring;

/* What became of the mbufs that a thread let go of while it returned mbufs to
 * rings.  Each mbuf handed to mbuf_return_free_bulk() ends up in exactly one
 * of the first three or in a bin. */
struct mbuf_return_stats {
    uint64_t ring;              /* Given to an Rx ring. */
    uint64_t bulk;              /* Freed to a mempool in bulk. */
    uint64_t single;            /* Freed one by one: shared, chained,
                                 * indirect or with an external buffer. */
    uint64_t held;              /* In bins now; not a running count. */
};

#ifdef DPDK_NETDEV

#include <string.h>

#include <rte_config.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "openvswitch/compiler.h"
#include "openvswitch/thread.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

/* Largest portion in which a supported driver refills its Rx ring: 32 mbufs
 * in DPDK 23.11 to 25.03, 64 in later releases (i40e and ixgbe). */
#define MBUF_RETURN_MAX_REFILL 64

/* Number of portions that a bin holds at most. */
#define MBUF_RETURN_BIN_REFILLS 2

/* The mbufs of one NIC port that a thread has let go of and that wait for room
 * in one of the port's Rx rings.  Last in, first out. */
struct mbuf_return_bin {
    uint64_t rearm;             /* mbuf_return_rearm() of mbufs that fit. */
    struct rte_mempool *mp;     /* The mempool of the port's Rx rings. */
    uint16_t n;                 /* Number of 'mbufs' held. */
    uint16_t max;               /* Most mbufs to hold, 0 to take none. */
    uint16_t refill;            /* Mbufs in a portion. */
    uint16_t n_rings;           /* Open rings of the port. */
    uint16_t n_active;          /* Of those, rings that take mbufs. */
    struct rte_mbuf *mbufs[MBUF_RETURN_BIN_REFILLS * MBUF_RETURN_MAX_REFILL];
};

/* An Rx ring that takes mbufs back.  The pointers into the driver's queue are
 * valid until the queue is stopped or set up again; the owner closes the ring
 * before that. */
struct mbuf_return_ring {
    struct mbuf_return_bin *bin;    /* Where the mbufs come from. */
    struct rte_mbuf **mbufs;        /* The driver's mbuf ring. */
    const uint16_t *refill_head;    /* First slot to refill. */
    const uint16_t *receive_tail;   /* First slot not received from. */
    uint16_t mask;                  /* Slots in the ring - 1. */
    uint16_t refill;                /* Mbufs in a portion; UINT16_MAX if the
                                     * driver's callback does nothing. */
    uint16_t port_id;               /* DPDK port. */
    uint16_t queue_id;              /* Rx queue of the port. */
    struct mbuf_return *mr;         /* The thread's. */
    atomic_uint64_t n_refilled;     /* Mbufs that went into this ring. */
    atomic_bool failed;             /* The driver's callback did nothing. */
};

/* What a thread needs to know of an Rx ring to return mbufs to it. */
struct mbuf_return_ring_params {
    uint16_t port_id;               /* DPDK port, < RTE_MAX_ETHPORTS. */
    uint16_t queue_id;              /* Rx queue of the port. */
    struct rte_mempool *mp;         /* Mempool that fills the ring. */
    struct rte_mbuf **mbufs;        /* The driver's mbuf ring. */
    const uint16_t *refill_head;    /* First slot to refill. */
    const uint16_t *receive_tail;   /* First slot not received from. */
    uint16_t size;                  /* Slots in the ring. */
    uint16_t refill;                /* Mbufs in a portion. */
};

/* Per-thread state. */
struct mbuf_return {
    struct mbuf_return_bin *bins[RTE_MAX_ETHPORTS]; /* By DPDK port id; points
                                                     * to 'none', never
                                                     * NULL. */
    struct mbuf_return_bin none;    /* Takes no mbuf. */
    size_t n_rings;                 /* Open rings. */

    /* Counters.  Written by the owner only, at most once per batch. */
    atomic_uint64_t n_ring;         /* Mbufs given to rings. */
    atomic_uint64_t n_bulk;         /* Mbufs freed in bulk. */
    atomic_uint64_t n_single;       /* Mbufs freed one by one. */
    atomic_uint64_t n_held;         /* Mbufs in bins. */
};

/* The calling thread's state, NULL if it does not return mbufs to rings.  Set
 * by mbuf_return_ring_create(). */
DECLARE_EXTERN_PER_THREAD_DATA(struct mbuf_return *, mbuf_return_thread);

struct mbuf_return *mbuf_return_create(void);
void mbuf_return_destroy(struct mbuf_return *);
void mbuf_return_flush(struct mbuf_return *);
void mbuf_return_get_stats(const struct mbuf_return *,
                           struct mbuf_return_stats *);

struct mbuf_return_ring *mbuf_return_ring_open(struct mbuf_return *,
                                               uint16_t port_id,
                                               uint16_t queue_id,
                                               char **whyp);
struct mbuf_return_ring *mbuf_return_ring_create(
    struct mbuf_return *, const struct mbuf_return_ring_params *,
    char **whyp);
void mbuf_return_ring_close(struct mbuf_return_ring *);
uint64_t mbuf_return_ring_n_refilled(const struct mbuf_return_ring *);
bool mbuf_return_ring_failed(const struct mbuf_return_ring *);

void mbuf_return_free_bulk__(struct mbuf_return *, struct rte_mbuf **,
                             size_t n);
void mbuf_return_refill__(struct mbuf_return_ring *);

/* Returns true if the calling thread returns mbufs to rings. */
static inline bool
mbuf_return_enabled(void)
{
    return *mbuf_return_thread_get() != NULL;
}

/* Frees the 'n' packets in 'pkts', of which the caller must own a reference
 * each: returns them to the Rx rings they came from where possible, else to
 * their mempools.  Any mbuf that rte_pktmbuf_free() takes is welcome, but not
 * NULL.  May reorder 'pkts'.  Any thread may call this. */
static inline void
mbuf_return_free_bulk(struct rte_mbuf **pkts, size_t n)
{
    struct mbuf_return *mr = *mbuf_return_thread_get();

    if (OVS_LIKELY(!mr)) {
        rte_pktmbuf_free_bulk(pkts, n);
    } else {
        mbuf_return_free_bulk__(mr, pkts, n);
    }
}

/* Moves mbufs from the bin to 'ring' if there are enough of them.  The calling
 * thread must own 'ring' and be about to receive from it. */
static inline void
mbuf_return_refill(struct mbuf_return_ring *ring)
{
    if (ring->bin->n >= ring->refill) {
        mbuf_return_refill__(ring);
    }
}

#else /* !DPDK_NETDEV */

static inline struct mbuf_return *
mbuf_return_create(void)
{
    return NULL;
}

static inline void
mbuf_return_destroy(struct mbuf_return *mr OVS_UNUSED)
{
    /* Nothing. */
}

static inline void
mbuf_return_flush(struct mbuf_return *mr OVS_UNUSED)
{
    /* Nothing. */
}

static inline void
mbuf_return_get_stats(const struct mbuf_return *mr OVS_UNUSED,
                      struct mbuf_return_stats *stats)
{
    *stats = (struct mbuf_return_stats) { .ring = 0 };
}

static inline uint64_t
mbuf_return_ring_n_refilled(const struct mbuf_return_ring *ring OVS_UNUSED)
{
    return 0;
}

static inline bool
mbuf_return_ring_failed(const struct mbuf_return_ring *ring OVS_UNUSED)
{
    return false;
}

#endif /* !DPDK_NETDEV */

#endif /* mbuf-return.h */
