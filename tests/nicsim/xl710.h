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

#ifndef NICSIM_XL710_H
#define NICSIM_XL710_H 1

/* A physical function of an Intel XL710: state, and what its parts in
 * xl710*.c offer each other. */

#include "nic.h"
#include "rss.h"
#include "xl710-regs.h"

/* Receive side scaling as the driver programmed it. */
struct xl710_rss {
    uint32_t key[PFQF_HKEY_N];      /* PFQF_HKEY. */
    uint32_t lut[PFQF_HLUT_N];      /* PFQF_HLUT, four entries each. */
    uint32_t ctl0;                  /* PFQF_CTL_0. */
    uint32_t glqf_ctl;              /* GLQF_CTL. */
    uint64_t hena;                  /* PFQF_HENA: enabled packet types. */
    uint64_t inset[64];             /* GLQF_HASH_INSET by packet type. */
};

struct xl710 {
    uint64_t sds[HMC_N_SDS];        /* Segments of the HMC: addresses. */
    uint8_t vsis[VSI_N][VSI_DATA_SIZE]; /* Properties by VSI number. */
    unsigned int n_vsis;            /* Highest VSI number given away. */
    bool aq_shut_down;              /* Until the queue is enabled again. */
    bool link_events;               /* The driver wants link events. */
    uint16_t queue_base;            /* First queue of the main VSI. */
    unsigned int n_ticks;           /* Calls of tick(). */
    uint32_t tx_ena[XL710_N_QUEUES];    /* QTX_ENA when last served. */
    uint32_t rx_ena[XL710_N_QUEUES];    /* QRX_ENA when last served. */
    struct xl710_rss rss;           /* Settings ... */
    struct rss toeplitz;            /* ... and their hash function. */
    struct rx_meta default_meta;    /* Not hashed, to the first queue. */
};

/* Admin queue commands that the model does not know, of all ports. */
extern uint64_t xl710_aq_unknown;

/* Counter block of the main VSI. */
#define XL710_STAT_COUNTER 16

/* xl710-aq.c: serves the admin queue.  Returns true if there was work. */
bool xl710_aq_poll(struct port *);

/* xl710-aq.c: tells the driver about the link by an admin queue event, if it
 * wants to know. */
void xl710_aq_link_event(struct port *);

/* xl710-hmc.c: keeps a segment of the HMC that the driver announces.  Returns
 * true if it did. */
bool xl710_hmc_poll(struct port *);

/* xl710-hmc.c: serves the queue enable registers.  Returns true if a queue
 * was switched on or off. */
bool xl710_queues_poll(struct port *);

/* xl710-rss.c: reads the settings and notes a change in rx_config_seq. */
void xl710_rss_update(struct port *);

/* xl710-rss.c, xl710-data.c: see struct nic_class. */
void xl710_classify(const struct port *, const uint8_t *frame,
                    const struct packet_headers *, struct rx_meta *);
unsigned int xl710_rx_reserve(struct rx_queue *, struct rx_slot *,
                              unsigned int n);
void xl710_rx_commit(struct rx_queue *, const struct rx_slot *,
                     unsigned int n);
unsigned int xl710_tx_fetch(struct port *, struct tx_queue *,
                            struct tx_frame *, unsigned int n);
void xl710_tx_commit(struct tx_queue *);

#endif /* xl710.h */
