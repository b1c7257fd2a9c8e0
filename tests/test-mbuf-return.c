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

/* Tests mbuf-return with true mempools and a stand-in for a driver: Rx queues
 * whose rings and refill callback check all that a driver relies on. */

#include <config.h>

#include "mbuf-return.h"

#include "command-line.h"
#include "ovstest.h"
#include "util.h"

#ifdef DPDK_NETDEV

#include <stdlib.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "dp-packet.h"
#include "dp-packet-return.h"
#include "random.h"

#define N_MBUFS 1023
#define CACHE_SIZE 128
#define RING_SIZE 256
#define REFILL 32

/* Ports of the stand-in driver, far from those that EAL may have found. */
#define PORT_A 7
#define PORT_B 9

/* An Rx queue of the stand-in driver. */
struct fake_rxq {
    uint16_t port_id;                   /* Its port. */
    struct rte_mempool *mp;             /* Where it takes mbufs from. */
    struct rte_mbuf *ring[RING_SIZE];   /* Posted mbufs. */
    uint16_t refill_head;               /* First slot to refill. */
    uint16_t receive_tail;              /* First slot to receive from. */
    bool dummy;                         /* Callback does nothing? */
    unsigned int n_refills;             /* Calls of the callback. */
};

static void *fake_queues[2][2];         /* By port, by queue. */

/* The contract of an mbuf in an Rx ring, and of a free one. */
static void
assert_free_mbuf(const struct rte_mbuf *m, const struct rte_mempool *mp)
{
    ovs_assert(m->pool == mp);
    ovs_assert(rte_mbuf_refcnt_read(m) == 1);
    ovs_assert(m->nb_segs == 1);
    ovs_assert(m->next == NULL);
    ovs_assert(RTE_MBUF_DIRECT(m));
}

/* The driver's refill callback. */
static void
fake_refill(void *rxq_, uint16_t n)
{
    struct fake_rxq *rxq = rxq_;

    rxq->n_refills++;
    if (rxq->dummy) {
        return;
    }

    ovs_assert(n == REFILL);
    ovs_assert(rxq->refill_head + n <= RING_SIZE);
    for (size_t i = 0; i < n; i++) {
        assert_free_mbuf(rxq->ring[rxq->refill_head + i], rxq->mp);
    }
    rxq->refill_head = (rxq->refill_head + n) % RING_SIZE;
}

/* Makes 'rxq' queue 'queue_id' of a port and fills its ring. */
static void
fake_rxq_init(struct fake_rxq *rxq, uint16_t port_id, uint16_t queue_id,
              struct rte_mempool *mp)
{
    void **queues = fake_queues[port_id == PORT_B];

    *rxq = (struct fake_rxq) { .port_id = port_id, .mp = mp };
    ovs_assert(!rte_mempool_get_bulk(mp, (void **) rxq->ring, RING_SIZE));
    queues[queue_id] = rxq;
    rte_eth_fp_ops[port_id].rxq.data = queues;
    rte_eth_fp_ops[port_id].recycle_rx_descriptors_refill = fake_refill;
}

/* Frees the mbufs that are posted in the ring of 'rxq'. */
static void
fake_rxq_uninit(struct fake_rxq *rxq)
{
    uint16_t n = rxq->refill_head - rxq->receive_tail;

    n = (n + RING_SIZE - 1) % RING_SIZE + 1;
    for (size_t i = 0; i < n; i++) {
        struct rte_mbuf *m = rxq->ring[(rxq->receive_tail + i) % RING_SIZE];

        assert_free_mbuf(m, rxq->mp);
        rte_mempool_put(rxq->mp, m);
    }
}

/* Receives 'n' packets from 'rxq' as a vector Rx function does. */
static void
fake_rx(struct fake_rxq *rxq, struct rte_mbuf **pkts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct rte_mbuf *m = rxq->ring[rxq->receive_tail];

        rxq->receive_tail = (rxq->receive_tail + 1) % RING_SIZE;
        m->data_off = RTE_PKTMBUF_HEADROOM;
        rte_mbuf_refcnt_set(m, 1);
        m->nb_segs = 1;
        m->port = rxq->port_id;
        m->ol_flags = 0;
        pkts[i] = m;
    }
}

static struct mbuf_return_ring_params
fake_params(struct fake_rxq *rxq, uint16_t queue_id)
{
    return (struct mbuf_return_ring_params) {
        .port_id = rxq->port_id,
        .queue_id = queue_id,
        .mp = rxq->mp,
        .mbufs = rxq->ring,
        .refill_head = &rxq->refill_head,
        .receive_tail = &rxq->receive_tail,
        .size = RING_SIZE,
        .refill = REFILL,
    };
}

static struct mbuf_return_ring *
open_ring(struct mbuf_return *mr, struct fake_rxq *rxq, uint16_t queue_id)
{
    struct mbuf_return_ring_params params = fake_params(rxq, queue_id);
    char *why;
    struct mbuf_return_ring *ring = mbuf_return_ring_create(mr, &params, &why);

    ovs_assert(ring);
    ovs_assert(!why);
    ovs_assert(mbuf_return_enabled());
    return ring;
}

static struct rte_mempool *
create_pool(const char *name)
{
    struct rte_mempool *mp;

    mp = rte_pktmbuf_pool_create_by_ops(name, N_MBUFS, CACHE_SIZE, 0,
                                        RTE_MBUF_DEFAULT_BUF_SIZE,
                                        SOCKET_ID_ANY, "ring_mp_mc");
    if (!mp) {
        ovs_fatal(0, "cannot create mempool %s: %s", name,
                  rte_strerror(rte_errno));
    }
    return mp;
}

static void
assert_stats(const struct mbuf_return *mr, uint64_t ring, uint64_t bulk,
             uint64_t single, uint64_t held)
{
    struct mbuf_return_stats stats;

    mbuf_return_get_stats(mr, &stats);
    if (stats.ring != ring || stats.bulk != bulk || stats.single != single
        || stats.held != held) {
        ovs_fatal(0, "ring %"PRIu64" bulk %"PRIu64" single %"PRIu64
                  " held %"PRIu64", expected %"PRIu64" %"PRIu64" %"PRIu64
                  " %"PRIu64, stats.ring, stats.bulk, stats.single,
                  stats.held, ring, bulk, single, held);
    }
}

/* What most tests need: a queue of PORT_A that is open. */
struct fixture {
    struct rte_mempool *mp;         /* The queue's. */
    struct rte_mempool *other_mp;   /* Another one. */
    struct fake_rxq rxq;            /* Queue 0. */
    struct mbuf_return *mr;         /* This thread's. */
    struct mbuf_return_ring *ring;  /* That of 'rxq'. */
};

static void
setup(struct fixture *f)
{
    f->mp = create_pool("pool-a");
    f->other_mp = create_pool("pool-b");
    fake_rxq_init(&f->rxq, PORT_A, 0, f->mp);
    f->mr = mbuf_return_create();
    ovs_assert(!mbuf_return_enabled());
    f->ring = open_ring(f->mr, &f->rxq, 0);
}

static void
teardown(struct fixture *f)
{
    if (f->ring) {
        mbuf_return_ring_close(f->ring);
    }
    ovs_assert(!mbuf_return_enabled());
    mbuf_return_destroy(f->mr);
    fake_rxq_uninit(&f->rxq);
    ovs_assert(rte_mempool_full(f->mp));
    ovs_assert(rte_mempool_full(f->other_mp));
    rte_mempool_free(f->mp);
    rte_mempool_free(f->other_mp);
}

static unsigned int n_external_freed;

static void
free_external_buffer(void *addr OVS_UNUSED, void *buf)
{
    n_external_freed++;
    rte_free(buf);
}

/* Each kind of mbuf goes where it must. */
static void
test_eligibility(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf_ext_shared_info *shinfo;
    struct rte_mbuf *pkts[4], *m, *direct;
    struct fixture f;
    uint16_t buf_len = 1024;
    void *buf;

    setup(&f);

    /* Plain: to the bin. */
    fake_rx(&f.rxq, pkts, 1);
    mbuf_return_free_bulk(pkts, 1);
    assert_stats(f.mr, 0, 0, 0, 1);

    /* A data offset is no obstacle. */
    fake_rx(&f.rxq, pkts, 1);
    ovs_assert(rte_pktmbuf_prepend(pkts[0], 14));
    mbuf_return_free_bulk(pkts, 1);
    assert_stats(f.mr, 0, 0, 0, 2);

    /* Shared: drops one reference only. */
    fake_rx(&f.rxq, pkts, 1);
    m = pkts[0];
    rte_mbuf_refcnt_update(m, 1);
    mbuf_return_free_bulk(pkts, 1);
    ovs_assert(rte_mbuf_refcnt_read(m) == 1);
    assert_stats(f.mr, 0, 0, 1, 2);
    pkts[0] = m;
    mbuf_return_free_bulk(pkts, 1);
    assert_stats(f.mr, 0, 0, 1, 3);

    /* Chained: all segments are freed. */
    fake_rx(&f.rxq, pkts, 2);
    ovs_assert(!rte_pktmbuf_chain(pkts[0], pkts[1]));
    mbuf_return_free_bulk(pkts, 1);
    assert_stats(f.mr, 0, 0, 2, 3);

    /* Indirect: both it and, with its last user, the direct mbuf. */
    fake_rx(&f.rxq, pkts, 2);
    m = pkts[0];
    direct = pkts[1];
    rte_pktmbuf_attach(m, direct);
    m->port = PORT_A;
    mbuf_return_free_bulk(pkts, 1);
    ovs_assert(rte_mbuf_refcnt_read(direct) == 1);
    assert_stats(f.mr, 0, 0, 3, 3);
    pkts[0] = direct;
    mbuf_return_free_bulk(pkts, 1);
    assert_stats(f.mr, 0, 0, 3, 4);

    /* External buffer. */
    fake_rx(&f.rxq, pkts, 1);
    buf = rte_malloc(NULL, buf_len, 0);
    shinfo = rte_pktmbuf_ext_shinfo_init_helper(buf, &buf_len,
                                                free_external_buffer, buf);
    rte_pktmbuf_attach_extbuf(pkts[0], buf, RTE_BAD_IOVA, buf_len, shinfo);
    mbuf_return_free_bulk(pkts, 1);
    ovs_assert(n_external_freed == 1);
    assert_stats(f.mr, 0, 0, 4, 4);

    /* Of another mempool, whatever its port says. */
    pkts[0] = rte_pktmbuf_alloc(f.other_mp);
    pkts[0]->port = PORT_A;
    mbuf_return_free_bulk(pkts, 1);
    assert_stats(f.mr, 0, 1, 4, 4);
    ovs_assert(rte_mempool_full(f.other_mp));

    /* Of no port, as vhost leaves it, and of ports without a ring. */
    pkts[0] = rte_pktmbuf_alloc(f.mp);
    pkts[1] = rte_pktmbuf_alloc(f.mp);
    pkts[2] = rte_pktmbuf_alloc(f.mp);
    pkts[3] = rte_pktmbuf_alloc(f.mp);
    ovs_assert(pkts[0]->port == RTE_MBUF_PORT_INVALID);
    pkts[1]->port = PORT_B;
    pkts[2]->port = RTE_MAX_ETHPORTS;
    pkts[3]->port = 0;
    mbuf_return_free_bulk(pkts, 4);
    assert_stats(f.mr, 0, 5, 4, 4);

    /* Nothing. */
    mbuf_return_free_bulk(pkts, 0);
    assert_stats(f.mr, 0, 5, 4, 4);

    teardown(&f);
}

/* All kinds in one batch. */
static void
test_mixed(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf *pkts[40], *shared;
    struct fixture f;

    setup(&f);
    fake_rx(&f.rxq, pkts, 40);
    rte_mbuf_refcnt_update(pkts[0], 1);             /* Single. */
    shared = pkts[0];
    ovs_assert(!rte_pktmbuf_chain(pkts[3], pkts[39]));  /* Single. */
    for (size_t i = 10; i < 20; i++) {              /* Bulk. */
        pkts[i]->port = RTE_MBUF_PORT_INVALID;
    }
    mbuf_return_free_bulk(pkts, 39);
    assert_stats(f.mr, 0, 10, 2, 27);
    rte_pktmbuf_free(shared);
    teardown(&f);
}

/* Only whole portions are refilled, and only when there is room. */
static void
test_partial(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf *pkts[64];
    struct fixture f;

    setup(&f);

    /* A full ring and an empty bin. */
    mbuf_return_refill(f.ring);
    ovs_assert(!f.rxq.n_refills);

    /* One short of a portion. */
    fake_rx(&f.rxq, pkts, REFILL - 1);
    mbuf_return_free_bulk(pkts, REFILL - 1);
    mbuf_return_refill(f.ring);
    ovs_assert(!f.rxq.n_refills);

    /* A portion in the bin, and room for exactly one. */
    fake_rx(&f.rxq, pkts, 1);
    mbuf_return_free_bulk(pkts, 1);
    assert_stats(f.mr, 0, 0, 0, REFILL);
    mbuf_return_refill(f.ring);
    ovs_assert(f.rxq.n_refills == 1);
    ovs_assert(f.rxq.refill_head == REFILL);
    assert_stats(f.mr, REFILL, 0, 0, 0);
    ovs_assert(mbuf_return_ring_n_refilled(f.ring) == REFILL);

    /* A portion in the bin, but no room: the driver was faster. */
    fake_rx(&f.rxq, pkts, REFILL);
    ovs_assert(!rte_mempool_get_bulk(f.mp, (void **) &f.rxq.ring[REFILL],
                                 REFILL));
    f.rxq.refill_head += REFILL;
    mbuf_return_free_bulk(pkts, REFILL);
    mbuf_return_refill(f.ring);
    ovs_assert(f.rxq.n_refills == 1);
    assert_stats(f.mr, REFILL, 0, 0, REFILL);

    /* Room for two, mbufs for two. */
    fake_rx(&f.rxq, pkts, REFILL);
    mbuf_return_free_bulk(pkts, REFILL);
    fake_rx(&f.rxq, pkts, REFILL);
    mbuf_return_refill(f.ring);
    ovs_assert(f.rxq.n_refills == 3);
    assert_stats(f.mr, 3 * REFILL, 0, 0, 0);

    rte_pktmbuf_free_bulk(pkts, REFILL);
    teardown(&f);
}

/* The bin is bounded, what is beyond goes to the mempool. */
static void
test_full(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf *pkts[RING_SIZE - 1];
    struct fixture f;

    setup(&f);
    fake_rx(&f.rxq, pkts, 200);
    mbuf_return_free_bulk(pkts, 200);
    assert_stats(f.mr, 0, 200 - 2 * REFILL, 0, 2 * REFILL);
    ovs_assert(rte_mempool_in_use_count(f.mp)
           == RING_SIZE - 200 + 2 * REFILL);
    mbuf_return_refill(f.ring);
    assert_stats(f.mr, 2 * REFILL, 200 - 2 * REFILL, 0, 0);
    teardown(&f);
}

/* Many rounds across the end of the ring, in bursts of every size. */
static void
test_wrap(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf *pkts[REFILL];
    struct fixture f;
    uint64_t n_rx = 0;
    struct mbuf_return_stats stats;

    setup(&f);
    for (int i = 0; i < 100000; i++) {
        size_t n = 1 + random_range(REFILL);

        fake_rx(&f.rxq, pkts, n);
        mbuf_return_free_bulk(pkts, n);
        mbuf_return_refill(f.ring);
        n_rx += n;
    }
    mbuf_return_get_stats(f.mr, &stats);
    ovs_assert(stats.ring + stats.held == n_rx);
    ovs_assert(stats.held < REFILL);
    ovs_assert(!stats.bulk && !stats.single);
    ovs_assert(f.rxq.n_refills == stats.ring / REFILL);
    ovs_assert(rte_mempool_in_use_count(f.mp) == RING_SIZE);
    teardown(&f);
}

/* A callback that does nothing is noticed, nothing is lost. */
static void
test_dummy(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf *pkts[2 * REFILL];
    struct fixture f;

    setup(&f);
    f.rxq.dummy = true;
    fake_rx(&f.rxq, pkts, 40);
    mbuf_return_free_bulk(pkts, 40);
    ovs_assert(!mbuf_return_ring_failed(f.ring));
    mbuf_return_refill(f.ring);
    ovs_assert(f.rxq.n_refills == 1);
    ovs_assert(mbuf_return_ring_failed(f.ring));
    assert_stats(f.mr, 0, 40, 0, 0);

    /* It is not tried again, and the bin takes nothing any more. */
    fake_rx(&f.rxq, pkts, 40);
    mbuf_return_free_bulk(pkts, 40);
    mbuf_return_refill(f.ring);
    ovs_assert(f.rxq.n_refills == 1);
    assert_stats(f.mr, 0, 80, 0, 0);
    teardown(&f);
}

/* One of two rings of a port fails, the other goes on. */
static void
test_dummy_one_of_two(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mbuf_return_ring *ring1;
    struct rte_mbuf *pkts[REFILL];
    struct fake_rxq rxq1;
    struct fixture f;

    setup(&f);
    fake_rxq_init(&rxq1, PORT_A, 1, f.mp);
    ring1 = open_ring(f.mr, &rxq1, 1);
    f.rxq.dummy = true;

    fake_rx(&f.rxq, pkts, REFILL);
    mbuf_return_free_bulk(pkts, REFILL);
    mbuf_return_refill(f.ring);
    ovs_assert(mbuf_return_ring_failed(f.ring));
    assert_stats(f.mr, 0, 0, 0, REFILL);

    fake_rx(&rxq1, pkts, REFILL);
    mbuf_return_free_bulk(pkts, REFILL);
    mbuf_return_refill(ring1);
    ovs_assert(!mbuf_return_ring_failed(ring1));
    assert_stats(f.mr, REFILL, 0, 0, REFILL);

    mbuf_return_ring_close(ring1);
    assert_stats(f.mr, REFILL, REFILL, 0, 0);
    fake_rxq_uninit(&rxq1);
    teardown(&f);
}

/* A stopped port has no callback. */
static void
test_stopped(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf *pkts[REFILL];
    struct fixture f;

    setup(&f);
    fake_rx(&f.rxq, pkts, REFILL);
    mbuf_return_free_bulk(pkts, REFILL);
    rte_eth_fp_ops[PORT_A].recycle_rx_descriptors_refill = NULL;
    mbuf_return_refill(f.ring);
    assert_stats(f.mr, 0, 0, 0, REFILL);
    teardown(&f);
}

/* Two ports with a mempool each, whose packets share batches. */
static void
test_two_ports(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mbuf_return_ring *ring_b;
    struct rte_mbuf *pkts[4 * REFILL];
    struct fake_rxq rxq_b;
    struct fixture f;

    setup(&f);
    fake_rxq_init(&rxq_b, PORT_B, 0, f.other_mp);
    ring_b = open_ring(f.mr, &rxq_b, 0);

    for (int i = 0; i < 1000; i++) {
        fake_rx(&f.rxq, pkts, REFILL);
        fake_rx(&rxq_b, &pkts[REFILL], REFILL);
        for (size_t j = 0; j < REFILL; j += 2) {
            struct rte_mbuf *tmp = pkts[j];

            pkts[j] = pkts[REFILL + j];
            pkts[REFILL + j] = tmp;
        }
        mbuf_return_free_bulk(pkts, 2 * REFILL);
        mbuf_return_refill(f.ring);
        mbuf_return_refill(ring_b);
    }
    assert_stats(f.mr, 2 * 1000 * REFILL, 0, 0, 0);

    /* Closing one port empties its bin and leaves the other alone. */
    fake_rx(&f.rxq, pkts, 5);
    fake_rx(&rxq_b, &pkts[5], 7);
    mbuf_return_free_bulk(pkts, 12);
    mbuf_return_ring_close(ring_b);
    assert_stats(f.mr, 2 * 1000 * REFILL, 7, 0, 5);
    ovs_assert(rte_mempool_in_use_count(f.other_mp) == RING_SIZE - 7);

    /* Mbufs of a closed port go to the mempool. */
    fake_rx(&rxq_b, pkts, 3);
    mbuf_return_free_bulk(pkts, 3);
    assert_stats(f.mr, 2 * 1000 * REFILL, 10, 0, 5);

    fake_rxq_uninit(&rxq_b);
    teardown(&f);
}

/* Bins are emptied by a flush, and refill as before after it. */
static void
test_flush(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf *pkts[2 * REFILL];
    struct fixture f;

    setup(&f);
    mbuf_return_flush(f.mr);
    assert_stats(f.mr, 0, 0, 0, 0);

    fake_rx(&f.rxq, pkts, 50);
    mbuf_return_free_bulk(pkts, 50);
    mbuf_return_flush(f.mr);
    assert_stats(f.mr, 0, 50, 0, 0);
    ovs_assert(rte_mempool_in_use_count(f.mp) == RING_SIZE - 50);

    fake_rx(&f.rxq, pkts, REFILL);
    mbuf_return_free_bulk(pkts, REFILL);
    mbuf_return_refill(f.ring);
    assert_stats(f.mr, REFILL, 50, 0, 0);

    fake_rx(&f.rxq, pkts, 20);
    mbuf_return_free_bulk(pkts, 20);
    assert_stats(f.mr, REFILL, 50, 0, 20);
    mbuf_return_ring_close(f.ring);
    f.ring = NULL;
    assert_stats(f.mr, REFILL, 70, 0, 0);

    /* Switched off: straight to the mempool, uncounted. */
    fake_rx(&f.rxq, pkts, 20);
    mbuf_return_free_bulk(pkts, 20);
    assert_stats(f.mr, REFILL, 70, 0, 0);

    /* And on again, with a new mempool. */
    f.ring = open_ring(f.mr, &f.rxq, 0);
    fake_rx(&f.rxq, pkts, 20);
    mbuf_return_free_bulk(pkts, 20);
    assert_stats(f.mr, REFILL, 70, 0, 20);
    teardown(&f);
}

static void
assert_refused(struct mbuf_return *mr,
               const struct mbuf_return_ring_params *params,
               const char *expected)
{
    char *why;

    ovs_assert(!mbuf_return_ring_create(mr, params, &why));
    ovs_assert(why);
    if (strcmp(why, expected)) {
        ovs_fatal(0, "refused: '%s', expected '%s'", why, expected);
    }
    free(why);
}

/* Rings that are unfit are refused with the reason. */
static void
test_refused(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mbuf_return_ring_params good, bad;
    struct fixture f;

    setup(&f);
    mbuf_return_ring_close(f.ring);
    f.ring = NULL;
    good = fake_params(&f.rxq, 0);

    bad = good;
    bad.size = 8160;
    assert_refused(f.mr, &bad, "rx ring of 8160 is not a power of two");

    bad = good;
    bad.size = 64;
    assert_refused(f.mr, &bad, "rx ring of 64 is smaller than 4 times 32, by "
                   "which the driver refills it");

    bad = good;
    bad.refill = 0;
    assert_refused(f.mr, &bad, "driver does not tell by how many mbufs it "
                   "refills its rx ring");

    bad = good;
    bad.refill = 128;
    assert_refused(f.mr, &bad, "rx ring is refilled by 128 mbufs, more than "
                   "64");

    bad = good;
    f.rxq.refill_head = 5;
    assert_refused(f.mr, &bad, "rx ring is not refilled in whole portions of "
                   "32 mbufs");
    f.rxq.refill_head = 0;

    bad = good;
    bad.mp = NULL;
    assert_refused(f.mr, &bad, "rx queue has no mempool");

    bad = good;
    bad.mbufs = NULL;
    assert_refused(f.mr, &bad, "driver does not tell where its rx ring is");

    bad = good;
    bad.port_id = RTE_MAX_ETHPORTS;
    assert_refused(f.mr, &bad, "no DPDK port 32");
    ovs_assert(!mbuf_return_enabled());

    /* Rings of one port must agree. */
    f.ring = open_ring(f.mr, &f.rxq, 0);
    bad = good;
    bad.queue_id = 1;
    bad.mp = f.other_mp;
    assert_refused(f.mr, &bad, "mempool 'pool-b' is not that of the port's "
                   "other rx queues, 'pool-a'");
    bad = good;
    bad.queue_id = 1;
    bad.refill = 64;
    assert_refused(f.mr, &bad, "rx ring is refilled by 64 mbufs, the port's "
                   "other rx queues by 32");
    teardown(&f);
}

/* A port that EAL does not know, and a real one without a refill callback. */
static void
test_open(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mbuf_return *mr = mbuf_return_create();
    char *why;

    ovs_assert(!mbuf_return_ring_open(mr, PORT_A, 0, &why));
    ovs_assert(!strncmp(why, "DPDK port 7 does not answer: ", 29));
    free(why);
    ovs_assert(!mbuf_return_enabled());
    mbuf_return_destroy(mr);
}

/* A mempool that runs dry: nothing gets stuck in the bin. */
static void
test_dry(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mbuf *others[N_MBUFS - RING_SIZE];
    struct rte_mbuf *pkts[RING_SIZE];
    struct fixture f;

    setup(&f);
    ovs_assert(!rte_mempool_get_bulk(f.mp, (void **) others,
                                 N_MBUFS - RING_SIZE));
    ovs_assert(rte_mempool_empty(f.mp));

    /* The ring is used up to the last mbuf, head and tail meet. */
    fake_rx(&f.rxq, pkts, RING_SIZE);
    mbuf_return_free_bulk(pkts, RING_SIZE);
    mbuf_return_refill(f.ring);
    ovs_assert(!f.rxq.n_refills);
    assert_stats(f.mr, 0, RING_SIZE - 2 * REFILL, 0, 2 * REFILL);
    ovs_assert(rte_mempool_avail_count(f.mp) == RING_SIZE - 2 * REFILL);

    /* The driver rearms from the mempool, then recycling goes on. */
    ovs_assert(!rte_mempool_get_bulk(f.mp, (void **) f.rxq.ring, REFILL));
    f.rxq.refill_head = REFILL;
    mbuf_return_refill(f.ring);
    ovs_assert(f.rxq.n_refills == 2);
    ovs_assert(f.rxq.refill_head == 3 * REFILL);

    rte_mempool_put_bulk(f.mp, (void **) others, N_MBUFS - RING_SIZE);
    teardown(&f);
}

/* Batches of packets from several sources. */
static void
test_batch(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct dp_packet_batch batch;
    struct rte_mempool *mp;
    struct fake_rxq rxq;
    struct mbuf_return *mr;
    struct mbuf_return_ring *ring;

    /* Mbufs as netdev-dpdk makes them: a dp_packet has an mbuf in front. */
    mp = rte_pktmbuf_pool_create_by_ops(
        "pool-p", N_MBUFS, CACHE_SIZE,
        sizeof(struct dp_packet) - sizeof(struct rte_mbuf),
        RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, "ring_mp_mc");
    ovs_assert(mp);
    fake_rxq_init(&rxq, PORT_A, 0, mp);

    mr = mbuf_return_create();
    for (int on = 0; on <= 1; on++) {
        ring = on ? open_ring(mr, &rxq, 0) : NULL;
        for (int n_mbufs = 0; n_mbufs <= NETDEV_MAX_BURST; n_mbufs++) {
            struct rte_mbuf *pkts[NETDEV_MAX_BURST];
            int n_left = n_mbufs;

            dp_packet_batch_init(&batch);
            fake_rx(&rxq, pkts, n_mbufs);
            while (dp_packet_batch_size(&batch) < NETDEV_MAX_BURST) {
                size_t room = NETDEV_MAX_BURST - dp_packet_batch_size(&batch);

                if (random_range(room) < n_left) {
                    struct dp_packet *packet;

                    packet = CONTAINER_OF(pkts[--n_left], struct dp_packet,
                                          mbuf);
                    dp_packet_init_dpdk(packet);
                    dp_packet_batch_add(&batch, packet);
                } else {
                    dp_packet_batch_add(&batch, dp_packet_new(64));
                }
            }

            /* Not stolen: nothing happens. */
            dp_packet_delete_batch(&batch, false);
            ovs_assert(dp_packet_batch_size(&batch) == NETDEV_MAX_BURST);

            dp_packet_delete_batch(&batch, true);
            ovs_assert(dp_packet_batch_is_empty(&batch));
            if (on) {
                struct mbuf_return_stats stats;

                mbuf_return_get_stats(mr, &stats);
                ovs_assert(stats.held == n_mbufs);
                ovs_assert(stats.single == 0);
                mbuf_return_flush(mr);
            }

            /* Fill the ring again as the driver does. */
            while (rxq.refill_head != rxq.receive_tail) {
                ovs_assert(!rte_mempool_get(
                    mp, (void **) &rxq.ring[rxq.refill_head]));
                rxq.refill_head = (rxq.refill_head + 1) % RING_SIZE;
            }
            ovs_assert(rte_mempool_in_use_count(mp) == RING_SIZE);
        }
        if (ring) {
            mbuf_return_ring_close(ring);
        }
        rxq.refill_head = rxq.receive_tail = 0;
    }
    mbuf_return_destroy(mr);
    fake_rxq_uninit(&rxq);
    ovs_assert(rte_mempool_full(mp));
    rte_mempool_free(mp);
}

static const struct ovs_cmdl_command commands[] = {
    { "eligibility", NULL, 0, 0, test_eligibility, OVS_RO },
    { "mixed", NULL, 0, 0, test_mixed, OVS_RO },
    { "partial", NULL, 0, 0, test_partial, OVS_RO },
    { "full", NULL, 0, 0, test_full, OVS_RO },
    { "wrap", NULL, 0, 0, test_wrap, OVS_RO },
    { "dummy", NULL, 0, 0, test_dummy, OVS_RO },
    { "dummy-one-of-two", NULL, 0, 0, test_dummy_one_of_two, OVS_RO },
    { "stopped", NULL, 0, 0, test_stopped, OVS_RO },
    { "two-ports", NULL, 0, 0, test_two_ports, OVS_RO },
    { "flush", NULL, 0, 0, test_flush, OVS_RO },
    { "refused", NULL, 0, 0, test_refused, OVS_RO },
    { "open", NULL, 0, 0, test_open, OVS_RO },
    { "dry", NULL, 0, 0, test_dry, OVS_RO },
    { "batch", NULL, 0, 0, test_batch, OVS_RO },
    { NULL, NULL, 0, 0, NULL, OVS_RO },
};

static void
test_mbuf_return_main(int argc, char *argv[])
{
    /* --no-huge excludes --in-memory up to DPDK 24.11 at least; --no-shconf
     * keeps parallel tests apart all the same. */
    char *eal_argv[] = {
        "test-mbuf-return", "--no-huge", "--no-pci", "--no-shconf",
        "--no-telemetry", "-m", "64", "-l", "0", NULL
    };
    struct ovs_cmdl_context ctx = { .argc = argc - 1, .argv = argv + 1 };

    ovs_cmdl_proctitle_init(argc, argv);
    if (rte_eal_init(ARRAY_SIZE(eal_argv) - 1, eal_argv) < 0) {
        ovs_fatal(0, "cannot initialize EAL: %s", rte_strerror(rte_errno));
    }
    ovs_cmdl_run_command(&ctx, commands);
    rte_eal_cleanup();
}

#else /* !DPDK_NETDEV */

/* Tells Autotest to skip the test. */
static void
test_mbuf_return_main(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    exit(77);
}

#endif /* !DPDK_NETDEV */

OVSTEST_REGISTER("test-mbuf-return", test_mbuf_return_main);
