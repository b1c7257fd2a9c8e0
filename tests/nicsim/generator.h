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

#ifndef NICSIM_GENERATOR_H
#define NICSIM_GENERATOR_H 1

/* Makes frames for a port's Rx queues and checks those that come back on any
 * port's Tx queues.  One generator per port. */

#include "frame.h"
#include "nic.h"

/* What the user can choose.  The same for all ports. */
struct generator_settings {
    uint32_t frame_size;        /* Bytes of a frame with CRC. */
    uint32_t n_flows;           /* Flows, used in turn. */
    uint32_t window;            /* Most frames under way, 0: any number. */
    uint32_t min_burst;         /* Wanted size of bursts. */
    double rate;                /* Frames per second, 0: any. */
    bool keep_payload;          /* Write each buffer just once. */
};

extern struct generator_settings generator_settings;

/* How long a smaller burst than wanted is held back. */
#define GENERATOR_BURST_USEC 20

/* Frames of an open-loop generator that wait for descriptors, as in a real
 * NIC's packet buffer, before some are dropped. */
#define GENERATOR_FIFO 1024

/* Counters that cannot be told by queue. */
#define GENERATOR_COUNTERS                                              \
    /* Frames of this generator that came back changed. */              \
    COUNTER(corrupt)                                                    \
    /* Frames the host sent from this port that no generator made. */   \
    COUNTER(foreign)

#define COUNTER(NAME) uint64_t NAME;
struct generator_counters { GENERATOR_COUNTERS };
#undef COUNTER

/* A flow of generated frames. */
struct flow {
    struct rx_meta meta;        /* For the Rx descriptor. */
    uint64_t last_seq;          /* Last frame that came back. */
};

struct generator {
    struct port *port;
    bool running;               /* Started and not yet stopped. */
    uint64_t remaining;         /* Frames to go, UINT64_MAX: no end. */
    double rate;                /* Frames per second, 0: any. */
    struct flow *flows;         /* Elements: generator_settings.n_flows. */
    uint32_t n_flows;           /* Elements of 'flows'. */
    uint32_t n_routed;          /* Flows whose queue is enabled. */
    unsigned int rx_config_seq; /* Port's when flows were assigned. */
    uint8_t mac[ETH_ALEN];      /* Port's when the template was made. */
    struct frame_template template;
    struct generator_counters n;    /* Counters. */
    struct generator_counters base; /* Snapshot when they were cleared. */
};

/* Gives 'port' a generator. */
void generator_create(struct port *port);

/* Applies changed generator_settings to all ports.  Nothing may be under
 * way. */
void generator_settings_changed(void);

/* Applies a changed window or rate to all ports, at any time. */
void generator_limits_changed(void);

/* Makes 'g' generate 'count' frames (UINT64_MAX: no end) at 'rate' frames per
 * second (0: as fast as the settings and the host allow). */
void generator_start(struct generator *g, double rate, uint64_t count);

/* Stops generating.  Frames under way still come back. */
void generator_stop(struct generator *g);

/* Gives the host what is due at TSC 'now'.  Returns the number of frames. */
unsigned int generator_run(struct generator *g, uint64_t now);

/* Checks 'n' frames that the host sent from 'port'. */
void generator_return(const struct port *port, const struct tx_frame *frames,
                      unsigned int n);

/* Looks for lost frames.  Called STREAM_MARKS times per loss timeout. */
void generator_tick(struct generator *g);

/* Returns the number of frames of 'g' under way. */
uint64_t generator_outstanding(const struct generator *g);

/* Forgets which buffers hold frames, for keep_payload. */
void generator_forget_payloads(void);

#endif /* generator.h */
