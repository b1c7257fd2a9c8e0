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

#ifndef NICSIM_STREAM_H
#define NICSIM_STREAM_H 1

/* The frames generated for one Rx queue: which are under way in the host,
 * which came back, which are lost.
 *
 * Frames are numbered.  A bit for each of the last STREAM_WINDOW frames says
 * whether it is under way; a second says whether it was given up as lost, so
 * that a frame that comes late is told from one that comes twice.
 *
 * Always: gen_sent == gen_returned + gen_lost + stream_outstanding(). */

#include "util.h"

/* A frame that has not come back when this many later ones of its queue were
 * sent is lost.  A power of two. */
#define STREAM_WINDOW (1u << 17)

/* Counters of a stream.  All but gen_lost (a late frame) grow only. */
#define STREAM_COUNTERS                                                 \
    /* Frames given to the host. */                                     \
    COUNTER(gen_sent)                                                   \
    /* Frames that came back unharmed, each counted once. */            \
    COUNTER(gen_returned)                                               \
    /* Frames that did not come back in time or whose queue stopped. */ \
    COUNTER(gen_lost)                                                   \
    /* Frames that came back again. */                                  \
    COUNTER(duplicate)                                                  \
    /* Frames that came back after a later one of the same flow. */     \
    COUNTER(reordered)                                                  \
    /* Frames that came back after they had been counted as lost. */    \
    COUNTER(late)

#define COUNTER(NAME) uint64_t NAME;
struct stream_counters { STREAM_COUNTERS };
#undef COUNTER

/* Loss is looked for this many times within the loss timeout. */
#define STREAM_MARKS 10

struct stream {
    struct stream_counters n;       /* Counters. */
    struct stream_counters base;    /* Snapshot when they were cleared. */
    uint64_t next_seq;              /* Of the next frame. */
    uint64_t oldest;                /* Earlier frames are accounted for. */
    uint64_t marks[STREAM_MARKS];   /* next_seq at the last ticks. */
    unsigned int next_mark;         /* Index of the oldest of 'marks'. */

    /* For the generator. */
    uint32_t *flows;                /* Flows that go to this queue. */
    uint32_t n_flows;               /* Elements of 'flows'. */
    uint32_t next_flow;             /* Index of the next to send. */
    uint32_t window;                /* Most frames under way, 0: any. */
    uint64_t remaining;             /* Frames to go, UINT64_MAX: no end. */
    double interval;                /* TSC cycles per frame, 0: any rate. */
    double next_due;                /* TSC at which the next frame is due. */

    /* A bit per frame, at its number modulo STREAM_WINDOW. */
    uint64_t under_way[STREAM_WINDOW / 64];
    uint64_t lost[STREAM_WINDOW / 64];
};

/* Returns a new stream.  It is never freed: a queue keeps its counters. */
struct stream *stream_create(void);

/* Returns the number of frames under way in the host. */
static inline uint64_t
stream_outstanding(const struct stream *s)
{
    return s->n.gen_sent - s->n.gen_returned - s->n.gen_lost;
}

/* Gives up frame 'seq', which is under way. */
void stream_lose(struct stream *s, uint64_t seq);

/* Returns the number for the next frame and notes it as under way. */
static inline uint64_t
stream_send(struct stream *s)
{
    uint64_t seq = s->next_seq++;
    uint64_t *word = &s->under_way[seq % STREAM_WINDOW / 64];
    uint64_t bit = UINT64_C(1) << seq % 64;

    if (UNLIKELY(*word & bit)) {
        stream_lose(s, seq - STREAM_WINDOW);
    }
    *word |= bit;
    s->lost[seq % STREAM_WINDOW / 64] &= ~bit;
    s->n.gen_sent++;
    return seq;
}

/* Deals with a frame that came back but is not under way. */
void stream_return_odd(struct stream *s, uint64_t seq);

/* Notes that frame 'seq' came back, of a flow whose last frame to come back
 * is '*flow_seq'. */
static inline void
stream_return(struct stream *s, uint64_t seq, uint64_t *flow_seq)
{
    uint64_t *word = &s->under_way[seq % STREAM_WINDOW / 64];
    uint64_t bit = UINT64_C(1) << seq % 64;

    if (LIKELY(seq < s->next_seq && s->next_seq - seq <= STREAM_WINDOW
               && *word & bit)) {
        *word &= ~bit;
        s->n.gen_returned++;
        if (UNLIKELY(seq < *flow_seq)) {
            s->n.reordered++;
        } else {
            *flow_seq = seq;
        }
    } else {
        stream_return_odd(s, seq);
    }
}

/* For frames whose payload is not written: counts one sent or returned
 * without knowing which. */
void stream_send_blind(struct stream *s);
void stream_return_blind(struct stream *s);

/* Gives up what was sent STREAM_MARKS calls ago and has not come back.  With
 * 'blind', frames are only counted. */
void stream_tick(struct stream *s, bool blind);

/* Gives up all frames under way. */
void stream_flush(struct stream *s);

#endif /* stream.h */
