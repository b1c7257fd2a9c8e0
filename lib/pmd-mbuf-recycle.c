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

#include "pmd-mbuf-recycle.h"

#include <strings.h>

#include "dpdk.h"
#include "netdev-provider.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "unixctl.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(pmd_mbuf_recycle);

/* An Rx queue that a PMD thread polls. */
struct pmd_mbuf_recycle_rxq {
    struct netdev_rxq *rx;          /* The queue.  For the PMD thread only. */
    char *port;                     /* Name of its port. */
    int queue_id;                   /* Its number. */
    struct mbuf_return_ring *ring;  /* Its ring, NULL if not recycling. */
    char *why;                      /* Why it does not recycle, or NULL. */
};

/* All PMD threads.  The threads' own mutexes nest inside this one. */
static struct ovs_mutex pmds_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list pmds OVS_GUARDED_BY(pmds_mutex)
    = OVS_LIST_INITIALIZER(&pmds);

/* Initializes 'config' to the default: off. */
void
pmd_mbuf_recycle_config_init(struct pmd_mbuf_recycle_config *config)
{
    atomic_init(&config->enabled, false);
    config->value = NULL;
}

/* Frees what 'config' owns. */
void
pmd_mbuf_recycle_config_destroy(struct pmd_mbuf_recycle_config *config)
{
    free(config->value);
}

/* Takes the switch from 'other_config' of the Open_vSwitch table.  Logs each
 * change, and each value that is neither true nor false, once. */
void
pmd_mbuf_recycle_config_set(struct pmd_mbuf_recycle_config *config,
                            const struct smap *other_config)
{
    const char *value = smap_get(other_config, "pmd-mbuf-recycle");
    bool enabled, was_enabled;

    if (nullable_string_is_equal(value, config->value)) {
        return;
    }
    free(config->value);
    config->value = nullable_xstrdup(value);

    if (value && strcasecmp(value, "true") && strcasecmp(value, "false")) {
        VLOG_WARN("pmd-mbuf-recycle: '%s' is neither 'true' nor 'false', "
                  "mbuf recycling is off", value);
    }

    enabled = value && !strcasecmp(value, "true");
    atomic_read_relaxed(&config->enabled, &was_enabled);
    if (enabled != was_enabled) {
        atomic_store_relaxed(&config->enabled, enabled);
        VLOG_INFO("mbuf recycling of PMD threads %s",
                  enabled ? "enabled" : "disabled");
    }
}

/* Initializes 'r' for the PMD thread of datapath 'dp_name' on core 'core_id',
 * which is not running yet.  'config' must outlive 'r'. */
void
pmd_mbuf_recycle_init(struct pmd_mbuf_recycle *r,
                      const struct pmd_mbuf_recycle_config *config,
                      const char *dp_name, unsigned int core_id, int numa_id)
{
    *r = (struct pmd_mbuf_recycle) {
        .config = config,
        .dp_name = xstrdup(dp_name),
        .core_id = core_id,
        .numa_id = numa_id,
    };
    ovs_mutex_init(&r->mutex);

    ovs_mutex_lock(&pmds_mutex);
    ovs_list_push_back(&pmds, &r->node);
    ovs_mutex_unlock(&pmds_mutex);
}

/* Frees what 'r' owns, after its PMD thread has ended. */
void
pmd_mbuf_recycle_destroy(struct pmd_mbuf_recycle *r)
{
    ovs_mutex_lock(&pmds_mutex);
    ovs_list_remove(&r->node);
    ovs_mutex_unlock(&pmds_mutex);

    ovs_assert(!r->n_rxqs);
    ovs_mutex_destroy(&r->mutex);
    mbuf_return_destroy(r->mr);
    free(r->dp_name);
}

/* Makes 'rxq' return mbufs to its ring if it can.  Notes the reason if it
 * cannot. */
static void
pmd_mbuf_recycle_open_rxq(struct pmd_mbuf_recycle *r,
                          struct pmd_mbuf_recycle_rxq *rxq)
    OVS_REQUIRES(r->mutex)
{
    const struct netdev_class *class = rxq->rx->netdev->netdev_class;

    if (!r->enabled) {
        rxq->why = xstrdup("pmd-mbuf-recycle is off");
    } else if (!class->rxq_mbuf_return) {
        rxq->why = xasprintf("ports of type %s have no rx ring that takes "
                             "mbufs back", class->type);
    } else {
        if (!r->mr) {
            r->mr = mbuf_return_create();
        }
        rxq->ring = class->rxq_mbuf_return(rxq->rx, r->mr, &rxq->why);
    }

    if (rxq->ring) {
        VLOG_DBG("core %u: returns mbufs to port '%s' queue %d",
                 r->core_id, rxq->port, rxq->queue_id);
    } else {
        VLOG(r->enabled && class->rxq_mbuf_return ? VLL_INFO : VLL_DBG,
             "core %u: does not return mbufs to port '%s' queue %d: %s",
             r->core_id, rxq->port, rxq->queue_id, rxq->why);
    }
}

/* Ends the recycling of the calling PMD thread.  All Rx queues that were
 * passed to pmd_mbuf_recycle_start() must still be there, and their ports
 * started. */
void
pmd_mbuf_recycle_stop(struct pmd_mbuf_recycle *r)
{
    ovs_mutex_lock(&r->mutex);
    for (size_t i = 0; i < r->n_rxqs; i++) {
        struct pmd_mbuf_recycle_rxq *rxq = &r->rxqs[i];

        if (rxq->ring) {
            rxq->rx->netdev->netdev_class->rxq_mbuf_return(rxq->rx, NULL,
                                                           NULL);
        }
        free(rxq->port);
        free(rxq->why);
    }
    free(r->rxqs);
    r->rxqs = NULL;
    r->n_rxqs = 0;
    ovs_mutex_unlock(&r->mutex);
}

/* Makes the calling PMD thread recycle mbufs, or not, as the switch now says.
 * 'rxqs' are the 'n_rxqs' Rx queues that it polls from now on. */
void
pmd_mbuf_recycle_start(struct pmd_mbuf_recycle *r,
                       struct netdev_rxq **rxqs, size_t n_rxqs)
{
    pmd_mbuf_recycle_stop(r);

    ovs_mutex_lock(&r->mutex);
    atomic_read_relaxed(&r->config->enabled, &r->enabled);
    r->rxqs = xcalloc(n_rxqs, sizeof *r->rxqs);
    r->n_rxqs = n_rxqs;
    for (size_t i = 0; i < n_rxqs; i++) {
        struct pmd_mbuf_recycle_rxq *rxq = &r->rxqs[i];

        rxq->rx = rxqs[i];
        rxq->port = xstrdup(netdev_rxq_get_name(rxqs[i]));
        rxq->queue_id = netdev_rxq_get_queue_id(rxqs[i]);
        pmd_mbuf_recycle_open_rxq(r, rxq);
    }
    ovs_mutex_unlock(&r->mutex);
}

/* Adds 'now' - '*counted' to 'counter' of 's' and sets '*counted' to 'now'. */
static void
pmd_mbuf_recycle_count_one(struct pmd_perf_stats *s,
                           enum pmd_stat_type counter,
                           uint64_t *counted, uint64_t now)
{
    if (now != *counted) {
        pmd_perf_update_counter(s, counter, now - *counted);
        *counted = now;
    }
}

/* Implements pmd_mbuf_recycle_end_iteration(). */
void
pmd_mbuf_recycle_count__(struct pmd_mbuf_recycle *r, struct pmd_perf_stats *s)
{
    struct mbuf_return_stats now;

    mbuf_return_get_stats(r->mr, &now);
    pmd_mbuf_recycle_count_one(s, PMD_STAT_MBUF_RING,
                               &r->counted.ring, now.ring);
    pmd_mbuf_recycle_count_one(s, PMD_STAT_MBUF_BULK,
                               &r->counted.bulk, now.bulk);
    pmd_mbuf_recycle_count_one(s, PMD_STAT_MBUF_SINGLE,
                               &r->counted.single, now.single);
}

/* Appends to 'ds' the lines of pmd-perf-show about recycled mbufs: none if
 * there are none.  'stats' holds PMD_N_STATS counters. */
void
pmd_mbuf_recycle_format_perf(struct ds *ds, const uint64_t *stats)
{
    uint64_t ring = stats[PMD_STAT_MBUF_RING];
    uint64_t bulk = stats[PMD_STAT_MBUF_BULK];
    uint64_t single = stats[PMD_STAT_MBUF_SINGLE];
    uint64_t total = ring + bulk + single;

    if (total) {
        ds_put_format(ds,
            "  Mbufs recycled:     %12"PRIu64"  (%5.1f %% of mbufs let go)\n"
            "  - freed in bulk:    %12"PRIu64"  (%5.1f %%)\n"
            "  - freed singly:     %12"PRIu64"  (%5.1f %%)\n",
            ring, 100.0 * ring / total,
            bulk, 100.0 * bulk / total,
            single, 100.0 * single / total);
    }
}

/* Returns why 'rxq' does not recycle mbufs, NULL if it does. */
static const char *
pmd_mbuf_recycle_rxq_why(const struct pmd_mbuf_recycle_rxq *rxq)
{
    if (!rxq->ring) {
        return rxq->why;
    }
    return mbuf_return_ring_failed(rxq->ring)
           ? "the driver's refill callback does nothing" : NULL;
}

/* Returns the statistics of 'r'. */
static struct mbuf_return_stats
pmd_mbuf_recycle_get_stats(const struct pmd_mbuf_recycle *r)
{
    struct mbuf_return_stats stats = { .ring = 0 };

    if (r->mr) {
        mbuf_return_get_stats(r->mr, &stats);
    }
    return stats;
}

/* Appends the PMD thread of 'r' to 'ds' as text. */
static void
pmd_mbuf_recycle_format(struct pmd_mbuf_recycle *r, struct ds *ds)
    OVS_REQUIRES(r->mutex)
{
    struct mbuf_return_stats stats = pmd_mbuf_recycle_get_stats(r);

    ds_put_format(ds, "pmd thread numa_id %d core_id %u:\n"
                  "  mbufs: %"PRIu64" returned to rings, %"PRIu64" freed in "
                  "bulk, %"PRIu64" freed singly, %"PRIu64" held\n",
                  r->numa_id, r->core_id, stats.ring, stats.bulk,
                  stats.single, stats.held);
    for (size_t i = 0; i < r->n_rxqs; i++) {
        const struct pmd_mbuf_recycle_rxq *rxq = &r->rxqs[i];
        const char *why = pmd_mbuf_recycle_rxq_why(rxq);

        ds_put_format(ds, "  port: %-16s  queue-id: %2d  ", rxq->port,
                      rxq->queue_id);
        if (why) {
            ds_put_format(ds, "not recycling: %s\n", why);
        } else {
            ds_put_format(ds, "recycling: %"PRIu64" mbufs refilled\n",
                          mbuf_return_ring_n_refilled(rxq->ring));
        }
    }
}

/* Returns the PMD thread of 'r' as JSON, which the caller owns. */
static struct json *
pmd_mbuf_recycle_to_json(struct pmd_mbuf_recycle *r)
    OVS_REQUIRES(r->mutex)
{
    struct mbuf_return_stats stats = pmd_mbuf_recycle_get_stats(r);
    struct json *pmd = json_object_create();
    struct json *rxqs = json_array_create_empty();

    for (size_t i = 0; i < r->n_rxqs; i++) {
        const struct pmd_mbuf_recycle_rxq *rxq = &r->rxqs[i];
        const char *why = pmd_mbuf_recycle_rxq_why(rxq);
        struct json *json = json_object_create();

        json_object_put_string(json, "port", rxq->port);
        json_object_put(json, "queue", json_integer_create(rxq->queue_id));
        json_object_put(json, "recycling", json_boolean_create(!why));
        json_object_put_string(json, "reason", why ? why : "");
        json_object_put(json, "refilled_mbufs", json_integer_create(
                            rxq->ring ? mbuf_return_ring_n_refilled(rxq->ring)
                                      : 0));
        json_array_add(rxqs, json);
    }

    json_object_put(pmd, "numa", json_integer_create(r->numa_id));
    json_object_put(pmd, "core", json_integer_create(r->core_id));
    json_object_put(pmd, "mbufs_to_ring", json_integer_create(stats.ring));
    json_object_put(pmd, "mbufs_bulk", json_integer_create(stats.bulk));
    json_object_put(pmd, "mbufs_single", json_integer_create(stats.single));
    json_object_put(pmd, "mbufs_held", json_integer_create(stats.held));
    json_object_put(pmd, "rxqs", rxqs);
    return pmd;
}

/* Orders PMD threads by datapath, NUMA node and core. */
static int
compare_pmds(const void *a_, const void *b_)
{
    const struct pmd_mbuf_recycle *const *ap = a_;
    const struct pmd_mbuf_recycle *const *bp = b_;
    const struct pmd_mbuf_recycle *a = *ap;
    const struct pmd_mbuf_recycle *b = *bp;
    int cmp = strcmp(a->dp_name, b->dp_name);

    if (!cmp) {
        cmp = a->numa_id < b->numa_id ? -1 : a->numa_id > b->numa_id;
    }
    if (!cmp) {
        cmp = a->core_id < b->core_id ? -1 : a->core_id > b->core_id;
    }
    return cmp;
}

/* Implements "dpif-netdev/pmd-mbuf-recycle-show". */
static void
pmd_mbuf_recycle_show(struct unixctl_conn *conn, int argc, const char *argv[],
                      void *aux OVS_UNUSED)
{
    bool as_json = unixctl_command_get_output_format(conn)
                   == UNIXCTL_OUTPUT_FMT_JSON;
    struct json *json = as_json ? json_object_create() : NULL;
    struct json *json_pmds = as_json ? json_array_create_empty() : NULL;
    struct pmd_mbuf_recycle **sorted, *r;
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *dp_name = NULL;
    unsigned int core_id = 0;
    bool any_core = true;
    bool enabled = false;
    bool found = false;
    size_t n = 0;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-pmd")) {
            if (i + 1 >= argc || !str_to_uint(argv[i + 1], 10, &core_id)) {
                unixctl_command_reply_error(conn, "-pmd takes the number of "
                                            "a core");
                goto out;
            }
            any_core = false;
            i++;
        } else if (dp_name) {
            unixctl_command_reply_error(conn, "please specify a single "
                                        "datapath");
            goto out;
        } else {
            dp_name = argv[i];
        }
    }

    ovs_mutex_lock(&pmds_mutex);
    sorted = xmalloc(ovs_list_size(&pmds) * sizeof *sorted);
    LIST_FOR_EACH (r, node, &pmds) {
        if (dp_name && strcmp(dp_name, r->dp_name)) {
            continue;
        }
        /* The switch is the same for all datapaths. */
        atomic_read_relaxed(&r->config->enabled, &enabled);
        found = true;
        if (r->core_id != NON_PMD_CORE_ID
            && (any_core || core_id == r->core_id)) {
            sorted[n++] = r;
        }
    }
    qsort(sorted, n, sizeof *sorted, compare_pmds);

    ds_put_format(&ds, "pmd-mbuf-recycle: %s\n", enabled ? "on" : "off");
    for (size_t i = 0; i < n; i++) {
        r = sorted[i];
        ovs_mutex_lock(&r->mutex);
        if (as_json) {
            json_array_add(json_pmds, pmd_mbuf_recycle_to_json(r));
        } else {
            pmd_mbuf_recycle_format(r, &ds);
        }
        ovs_mutex_unlock(&r->mutex);
    }
    free(sorted);
    ovs_mutex_unlock(&pmds_mutex);

    if (dp_name && !found) {
        unixctl_command_reply_error(conn,
                                    "please specify an existing datapath");
    } else if (as_json) {
        json_object_put(json, "enabled", json_boolean_create(enabled));
        json_object_put(json, "pmds", json_pmds);
        unixctl_command_reply_json(conn, json);
        json = json_pmds = NULL;
    } else {
        unixctl_command_reply(conn, ds_cstr(&ds));
    }

out:
    json_destroy(json_pmds);
    json_destroy(json);
    ds_destroy(&ds);
}

/* Registers the show command.  Called once, by the main thread. */
void
pmd_mbuf_recycle_register(void)
{
    unixctl_command_register("dpif-netdev/pmd-mbuf-recycle-show",
                             "[-pmd core] [dp]", 0, 3,
                             pmd_mbuf_recycle_show, NULL);
}
