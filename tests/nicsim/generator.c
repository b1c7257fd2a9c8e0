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

#define _GNU_SOURCE
#include "generator.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "dma.h"
#include "stream.h"

struct generator_settings generator_settings = {
    .frame_size = 64,
    .n_flows = 1,
    .min_burst = 32,
};

/* For keep_payload: whose frame is in the host's buffer at each multiple of
 * PAYLOAD_GRANULE of physical address, as port << 24 | flow, plus one.  Large
 * and sparse, reserved when first needed. */
#define PAYLOAD_GRANULE 256
#define PAYLOADS (DMA_WINDOW_SIZE / PAYLOAD_GRANULE)
static uint32_t *payloads;

void
generator_create(struct port *port)
{
    struct generator *g = xzalloc(1, sizeof *g);

    g->port = port;
    port->generator = g;
}

/* Makes the flow table of 'g' anew if the number of flows changed. */
static void
allocate_flows(struct generator *g)
{
    if (g->n_flows != generator_settings.n_flows) {
        free(g->flows);
        g->n_flows = generator_settings.n_flows;
        g->flows = xzalloc(g->n_flows, sizeof *g->flows);
    }
}

/* Asks the chip for the queue and hash of each flow and gives each queue's
 * stream its flows. */
static void
assign_flows(struct generator *g)
{
    struct port *port = g->port;
    uint8_t frame[FRAME_MAX_LEN];

    allocate_flows(g);
    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        if (port->rxqs[i].stream) {
            port->rxqs[i].stream->n_flows = 0;
        }
    }

    g->n_routed = 0;
    for (uint32_t i = 0; i < g->n_flows; i++) {
        struct flow *flow = &g->flows[i];
        struct packet_headers h;
        struct rx_queue *q;

        frame_write(&g->template, frame, i, 0, 0);
        h = packet_parse(frame, g->template.len);
        port->class->classify(port, frame, &h, &flow->meta);
        flow->last_seq = 0;
        q = &port->rxqs[flow->meta.queue];
        if (q->enabled) {
            q->stream->n_flows++;
            g->n_routed++;
        }
    }

    for (unsigned int i = 0; i < port->n_active_rxqs; i++) {
        struct stream *s = port->rxqs[port->active_rxqs[i]].stream;

        free(s->flows);
        s->flows = xzalloc(s->n_flows, sizeof *s->flows);
        s->n_flows = s->next_flow = 0;
    }
    for (uint32_t i = 0; i < g->n_flows; i++) {
        struct rx_queue *q = &port->rxqs[g->flows[i].meta.queue];

        if (q->enabled) {
            q->stream->flows[q->stream->n_flows++] = i;
        }
    }
    log_debug("port %u: %u of %u flows go to %u queues", port->index,
              g->n_routed, g->n_flows, port->n_active_rxqs);
}

/* Divides window, rate and number of frames among the queues by their number
 * of flows. */
static void
assign_shares(struct generator *g)
{
    uint64_t flows_before = 0, counted = 0;

    for (unsigned int i = 0; i < g->port->n_active_rxqs; i++) {
        struct stream *s = g->port->rxqs[g->port->active_rxqs[i]].stream;
        double share = g->n_routed ? (double) s->n_flows / g->n_routed : 0;

        s->window = generator_settings.window * share;
        if (generator_settings.window && !s->window) {
            s->window = 1;
        }
        s->interval = (g->rate > 0 && share > 0
                       ? tsc_hz / (g->rate * share) : 0);
        s->next_due = tsc_now();

        s->remaining = g->remaining;
        if (g->remaining != UINT64_MAX && g->n_routed) {
            /* As if dealt to all flows in turn; the sum is exact. */
            flows_before += s->n_flows;
            s->remaining = (unsigned __int128) g->remaining * flows_before
                           / g->n_routed - counted;
            counted += s->remaining;
        }
    }
}

/* Brings 'g' up to date with the port's and the user's settings. */
static void
configure(struct generator *g)
{
    memcpy(g->mac, g->port->mac, ETH_ALEN);
    g->rx_config_seq = g->port->rx_config_seq;
    frame_template_init(&g->template,
                        generator_settings.frame_size - ETH_CRC_LEN,
                        g->port->index, g->mac);
    assign_flows(g);
    assign_shares(g);
}

void
generator_settings_changed(void)
{
    if (generator_settings.keep_payload && !payloads) {
        payloads = mmap(NULL, PAYLOADS * sizeof *payloads,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (payloads == MAP_FAILED) {
            die("cannot reserve address space to keep payloads: %s",
                strerror(errno));
        }
    }
    generator_forget_payloads();
    for (unsigned int i = 0; i < nic_n_ports; i++) {
        configure(nic_ports[i]->generator);
    }
}

void
generator_limits_changed(void)
{
    for (unsigned int i = 0; i < nic_n_ports; i++) {
        struct generator *g = nic_ports[i]->generator;

        g->rate = generator_settings.rate;
        assign_shares(g);
    }
}

void
generator_start(struct generator *g, double rate, uint64_t count)
{
    g->rate = rate;
    g->remaining = count;
    g->running = true;
    configure(g);
}

void
generator_stop(struct generator *g)
{
    g->running = false;
}

void
generator_forget_payloads(void)
{
    if (payloads
        && madvise(payloads, PAYLOADS * sizeof *payloads, MADV_DONTNEED)) {
        die("cannot forget payloads: %s", strerror(errno));
    }
}

/* Returns the flow of the next frame of 's'. */
static inline uint32_t
next_flow(struct stream *s)
{
    uint32_t flow = s->flows[s->next_flow];

    s->next_flow = s->next_flow + 1 < s->n_flows ? s->next_flow + 1 : 0;
    return flow;
}

/* Makes the frame for 'slot', of the next flow of 'q'. */
static inline void
fill_slot(struct generator *g, const struct rx_queue *q,
          struct rx_slot *slot)
{
    struct stream *s = q->stream;
    uint32_t flow = next_flow(s);

    slot->len = g->template.len + q->crc_len;
    slot->last = true;
    slot->cast = CAST_UNICAST;
    slot->meta = g->flows[flow].meta;
    frame_write(&g->template, slot->data, flow, slot->meta.queue,
                stream_send(s));
}

/* Like fill_slot(), but if the buffer holds a frame already, leaves it. */
static void
keep_slot(struct generator *g, const struct rx_queue *q,
          struct rx_slot *slot)
{
    uint32_t *payload = &payloads[(slot->data - dma_window)
                                  / PAYLOAD_GRANULE];
    struct stream *s = q->stream;
    uint32_t flow;

    if (UNLIKELY(!*payload)) {
        flow = next_flow(s);
        frame_write(&g->template, slot->data, flow, g->flows[flow].meta.queue,
                    0);
        *payload = (g->port->index << 24 | flow) + 1;
    }
    flow = *payload - 1;
    slot->len = g->template.len + q->crc_len;
    slot->last = true;
    slot->cast = CAST_UNICAST;
    slot->meta = nic_ports[flow >> 24]->generator->flows[flow
                                                         & 0xffffff].meta;
    stream_send_blind(s);
}

/* Makes up to 'n' frames that take several descriptors of 'q' each.  Returns
 * how many. */
static unsigned int
send_scattered(struct generator *g, struct rx_queue *q, unsigned int n)
{
    unsigned int per_frame = ((g->template.len + q->crc_len + q->buf_size - 1)
                              / q->buf_size);
    unsigned int room = ring_pending(q->tail, q->head, q->size) / per_frame;
    struct stream *s = q->stream;
    uint8_t data[FRAME_MAX_LEN];
    struct tx_frame frame = { .data = data, .len = g->template.len };

    n = n < room ? n : room;
    for (unsigned int i = 0; i < n; i++) {
        uint32_t flow = next_flow(s);
        uint64_t seq;

        if (generator_settings.keep_payload) {
            stream_send_blind(s);
            seq = 0;
        } else {
            seq = stream_send(s);
        }
        frame_write(&g->template, data, flow, g->flows[flow].meta.queue, seq);
        nic_receive(g->port, &frame, 1);
    }
    return n;
}

/* Makes up to 'n' frames that take one descriptor of 'q' each.  Returns how
 * many. */
static unsigned int
send_burst(struct generator *g, struct rx_queue *q, unsigned int n)
{
    struct rx_slot slots[NIC_BURST];

    n = g->port->class->rx_reserve(q, slots, n);
    if (generator_settings.keep_payload) {
        for (unsigned int i = 0; i < n; i++) {
            keep_slot(g, q, &slots[i]);
        }
    } else {
        for (unsigned int i = 0; i < n; i++) {
            fill_slot(g, q, &slots[i]);
        }
    }
    g->port->class->rx_commit(q, slots, n);
    q->n.rx_packets += n;
    q->n.rx_bytes += (uint64_t) n * g->template.len;
    g->port->rx_sizes[packet_size_class(g->template.len)] += n;
    g->port->rx_casts[CAST_UNICAST] += n;
    return n;
}

/* Counts 'n' generated frames that do not get into 'q'. */
static void
drop(struct generator *g, struct rx_queue *q, uint64_t n)
{
    q->n.rx_dropped += n;
    q->n.rx_dropped_bytes += n * g->template.len;
    g->port->rx_sizes[packet_size_class(g->template.len)] += n;
    g->port->rx_casts[CAST_UNICAST] += n;
}

/* Returns how many frames may be sent to 'q' at TSC 'now', at most
 * NIC_BURST.  In open loop, drops what does not find descriptors. */
static unsigned int
allowance(struct generator *g, struct rx_queue *q, uint64_t now)
{
    struct stream *s = q->stream;
    unsigned int room = ring_pending(q->tail, q->head, q->size);
    uint64_t n = NIC_BURST;

    if (s->window) {
        uint64_t outstanding = stream_outstanding(s);

        n = outstanding < s->window ? s->window - outstanding : 0;
    }
    if (s->interval > 0) {
        uint64_t due = (now > s->next_due
                        ? (now - s->next_due) / s->interval : 0);

        if (due > GENERATOR_FIFO) {
            uint64_t excess = due - GENERATOR_FIFO;

            if (!s->window) {
                drop(g, q, excess);
            }
            s->next_due += excess * s->interval;
            due = GENERATOR_FIFO;
        }
        n = due < n ? due : n;
    }
    n = room < n ? room : n;
    n = s->remaining < n ? s->remaining : n;
    return n < NIC_BURST ? n : NIC_BURST;
}

/* Returns true if a burst of 'n' frames for 'q' is worth sending at 'now': it
 * is large enough, or has waited long enough. */
static bool
burst_ripe(struct rx_queue *q, unsigned int n, uint64_t now)
{
    uint32_t wanted = generator_settings.min_burst;

    if (q->stream->window && q->stream->window < wanted) {
        wanted = q->stream->window;
    }
    if (n >= wanted || n == q->stream->remaining) {
        q->waiting_since = 0;
        return true;
    }
    if (!q->waiting_since) {
        q->waiting_since = now;
    } else if (now - q->waiting_since
               >= tsc_from_usec(GENERATOR_BURST_USEC)) {
        q->waiting_since = 0;
        return true;
    }
    return false;
}

/* Sends a burst to 'q' if one is due.  Returns the number of frames. */
static unsigned int
run_queue(struct generator *g, struct rx_queue *q, uint64_t now)
{
    unsigned int n = allowance(g, q, now);

    if (!n || !burst_ripe(q, n, now)) {
        return 0;
    }
    if (UNLIKELY(g->template.len + ETH_CRC_LEN > q->max_len)) {
        /* Oversized: a NIC drops it, but without a rate nobody can tell how
         * many arrive. */
        if (!(q->stream->interval > 0)) {
            return 0;
        }
        drop(g, q, n);
    } else if (UNLIKELY(g->template.len + q->crc_len > q->buf_size)) {
        n = send_scattered(g, q, n);
    } else {
        n = send_burst(g, q, n);
    }
    q->stream->next_due += n * q->stream->interval;
    if (g->remaining != UINT64_MAX) {
        g->remaining -= n;
        q->stream->remaining -= n;
    }
    return n;
}

unsigned int
generator_run(struct generator *g, uint64_t now)
{
    const struct port *port = g->port;
    unsigned int n = 0;

    if (!g->running || !port->link_up) {
        return 0;
    }
    if (UNLIKELY(g->rx_config_seq != port->rx_config_seq
                 || memcmp(g->mac, port->mac, ETH_ALEN))) {
        generator_forget_payloads();
        configure(g);
    }
    for (unsigned int i = 0; i < port->n_active_rxqs; i++) {
        struct rx_queue *q = &g->port->rxqs[port->active_rxqs[i]];

        if (q->stream->n_flows && !q->faulted) {
            n += run_queue(g, q, now);
        }
    }
    if (!g->remaining) {
        g->running = false;
    }
    return n;
}

/* With kept payloads nobody knows which frame came back: books it on a
 * neighbour's generator, or else on the port's own, by number. */
static void
return_blind(const struct port *port)
{
    const struct port *from[2] = { nic_peer(port), port };

    for (unsigned int i = 0; i < 2; i++) {
        for (unsigned int j = 0; j < from[i]->n_active_rxqs; j++) {
            struct stream *s = from[i]->rxqs[from[i]->active_rxqs[j]].stream;

            if (stream_outstanding(s)) {
                stream_return_blind(s);
                return;
            }
        }
    }
    if (from[0]->n_active_rxqs) {
        stream_return_blind(from[0]->rxqs[from[0]->active_rxqs[0]].stream);
    }
}

void
generator_return(const struct port *port, const struct tx_frame *frames,
                 unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        struct frame_info info;
        struct generator *g;
        struct stream *s;

        if (generator_settings.keep_payload) {
            return_blind(port);
            continue;
        }

        info = frame_check(frames[i].data, frames[i].len, frames[i].ip_csum);
        if (UNLIKELY(info.kind == FRAME_FOREIGN)) {
            port->generator->n.foreign++;
            continue;
        }
        g = (info.port < nic_n_ports ? nic_ports[info.port]->generator
             : nic_peer(port)->generator);
        if (UNLIKELY(info.kind == FRAME_CORRUPT
                     || info.queue >= NIC_MAX_QUEUES
                     || info.flow >= g->n_flows)) {
            g->n.corrupt++;
            continue;
        }
        s = g->port->rxqs[info.queue].stream;
        if (UNLIKELY(!s)) {
            g->n.corrupt++;
            continue;
        }
        stream_return(s, info.seq, &g->flows[info.flow].last_seq);
    }
}

void
generator_tick(struct generator *g)
{
    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        if (g->port->rxqs[i].stream) {
            stream_tick(g->port->rxqs[i].stream,
                        generator_settings.keep_payload);
        }
    }
}

uint64_t
generator_outstanding(const struct generator *g)
{
    uint64_t n = 0;

    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        if (g->port->rxqs[i].stream) {
            n += stream_outstanding(g->port->rxqs[i].stream);
        }
    }
    return n;
}
