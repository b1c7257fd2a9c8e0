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

#ifndef PMD_MBUF_RECYCLE_H
#define PMD_MBUF_RECYCLE_H 1

/* Mbuf recycling of PMD threads
 * =============================
 *
 * Ties mbuf-return, which knows mbufs and Rx rings, to the PMD threads of
 * dpif-netdev: the switch (other_config:pmd-mbuf-recycle), which Rx queues of
 * a thread take part, the counters, and
 * "ovs-appctl dpif-netdev/pmd-mbuf-recycle-show".
 *
 * The rings of a thread are chosen anew whenever the thread loads its queues,
 * that is after each reload, and when the switch changes.  A reload is over
 * only after that, so no ring is in use when its port is reconfigured. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpif-netdev-perf.h"
#include "mbuf-return.h"
#include "openvswitch/list.h"
#include "openvswitch/thread.h"
#include "ovs-atomic.h"

struct ds;
struct netdev_rxq;
struct pmd_mbuf_recycle_rxq;
struct smap;

/* The switch of a datapath. */
struct pmd_mbuf_recycle_config {
    atomic_bool enabled;        /* Written by the main thread. */
    char *value;                /* As found in the database, or NULL.  Main
                                 * thread only. */
};

void pmd_mbuf_recycle_config_init(struct pmd_mbuf_recycle_config *);
void pmd_mbuf_recycle_config_destroy(struct pmd_mbuf_recycle_config *);
void pmd_mbuf_recycle_config_set(struct pmd_mbuf_recycle_config *,
                                 const struct smap *other_config);

/* Part of a PMD thread. */
struct pmd_mbuf_recycle {
    /* Used by the PMD thread only. */
    const struct pmd_mbuf_recycle_config *config; /* The datapath's. */
    struct mbuf_return *mr;     /* NULL while nothing is recycled. */
    bool enabled;               /* The switch, as the thread last saw it. */
    struct mbuf_return_stats counted;   /* Counted in the thread's perf. */

    /* Immutable. */
    char *dp_name;              /* Datapath. */
    unsigned int core_id;       /* Of the thread. */
    int numa_id;                /* Of the thread. */
    struct ovs_list node;       /* Among all PMD threads. */

    /* What the show command shows.  Written by the PMD thread.  The mutex
     * keeps the rings in 'rxqs' from being closed while they are read. */
    struct ovs_mutex mutex;
    struct pmd_mbuf_recycle_rxq *rxqs OVS_GUARDED; /* Rx queues polled. */
    size_t n_rxqs OVS_GUARDED;                     /* Number of 'rxqs'. */
};

/* For the main thread. */
void pmd_mbuf_recycle_init(struct pmd_mbuf_recycle *,
                           const struct pmd_mbuf_recycle_config *,
                           const char *dp_name, unsigned int core_id,
                           int numa_id);
void pmd_mbuf_recycle_destroy(struct pmd_mbuf_recycle *);

/* For the PMD thread. */
void pmd_mbuf_recycle_start(struct pmd_mbuf_recycle *,
                            struct netdev_rxq **rxqs, size_t n_rxqs);
void pmd_mbuf_recycle_stop(struct pmd_mbuf_recycle *);
void pmd_mbuf_recycle_count__(struct pmd_mbuf_recycle *,
                              struct pmd_perf_stats *);

/* Empties the bins of the calling PMD thread, which is about to sleep. */
static inline void
pmd_mbuf_recycle_flush(struct pmd_mbuf_recycle *r)
{
    if (r->mr) {
        mbuf_return_flush(r->mr);
    }
}

/* To be called once per iteration by the PMD thread.  Adds to 's' what was
 * recycled.  Returns true if the switch has changed, so that the thread must
 * call pmd_mbuf_recycle_start() again. */
static inline bool
pmd_mbuf_recycle_end_iteration(struct pmd_mbuf_recycle *r,
                               struct pmd_perf_stats *s)
{
    bool enabled;

    if (r->mr) {
        pmd_mbuf_recycle_count__(r, s);
    }

    atomic_read_relaxed(&r->config->enabled, &enabled);
    return OVS_UNLIKELY(enabled != r->enabled);
}

void pmd_mbuf_recycle_format_perf(struct ds *, const uint64_t *stats);
void pmd_mbuf_recycle_register(void);

#endif /* pmd-mbuf-recycle.h */
