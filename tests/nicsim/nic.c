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

#include "nic.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dma.h"
#include "stream.h"

struct port *nic_ports[NIC_MAX_PORTS];
unsigned int nic_n_ports;

static const struct nic_class *const classes[] = { &xl710_class };

/* Returns the number in file 'dir'/'pci'/'name', or ends the process. */
static unsigned long
read_number(const char *dir, const char *pci, const char *name)
{
    char path[512], text[32];
    unsigned long value;
    char *end;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s/%s", dir, pci, name);
    f = fopen(path, "re");
    if (!f || !fgets(text, sizeof text, f)) {
        die("cannot read %s: %s", path, f ? "empty" : strerror(errno));
    }
    fclose(f);
    value = strtoul(text, &end, 0);
    if (end == text) {
        die("%s does not hold a number", path);
    }
    return value;
}

/* Returns the class of chips with PCI device id 'id', or NULL. */
static const struct nic_class *
find_class(unsigned long id)
{
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        for (const uint16_t *p = classes[i]->device_ids; *p; p++) {
            if (*p == id) {
                return classes[i];
            }
        }
    }
    return NULL;
}

/* Opens the FIFO that DPDK takes for the UIO device of 'dir'/'pci'. */
static int
open_interrupt(const char *dir, const char *pci)
{
    char path[512];
    glob_t names;
    int fd;

    snprintf(path, sizeof path, "%s/%s/uio/uio*", dir, pci);
    if (glob(path, 0, NULL, &names) || names.gl_pathc != 1) {
        die("there is not exactly one %s", path);
    }
    snprintf(path, sizeof path, "/dev/%s",
             strrchr(names.gl_pathv[0], '/') + 1);
    globfree(&names);

    /* For reading too, so that it can be opened before the driver does and
     * writing never raises SIGPIPE. */
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        die("cannot open %s: %s (is nicsim started by nicsim-launch?)",
            path, strerror(errno));
    }
    return fd;
}

void
nic_open(const char *dir, const char *pci)
{
    struct port *port = xzalloc(1, sizeof *port);
    unsigned long id = read_number(dir, pci, "device");
    char path[512];
    struct stat s;

    if (nic_n_ports >= NIC_MAX_PORTS) {
        die("%s has more than %d devices", dir, NIC_MAX_PORTS);
    }
    port->index = nic_n_ports;
    snprintf(port->pci, sizeof port->pci, "%s", pci);
    port->class = find_class(id);
    if (!port->class) {
        die("%s has PCI device id %#lx, which is not modelled", pci, id);
    }

    snprintf(path, sizeof path, "%s/%s/resource0", dir, pci);
    port->bar_fd = open(path, O_RDWR | O_CLOEXEC);
    if (port->bar_fd < 0 || fstat(port->bar_fd, &s)) {
        die("cannot open %s: %s", path, strerror(errno));
    }
    if ((size_t) s.st_size < port->class->bar_size) {
        die("%s has %lld bytes, a %s needs %zu", path,
            (long long) s.st_size, port->class->name, port->class->bar_size);
    }
    port->bar = mmap(NULL, port->class->bar_size, PROT_READ | PROT_WRITE,
                     MAP_SHARED, port->bar_fd, 0);
    if (port->bar == MAP_FAILED) {
        die("cannot map %s: %s", path, strerror(errno));
    }
    port->irq_fd = open_interrupt(dir, pci);
    port->dma_device = dma_add_device(port->bar_fd);
    port->link_up = true;

    nic_ports[nic_n_ports++] = port;
    port->class->construct(port);
}

struct port *
nic_peer(const struct port *port)
{
    unsigned int peer = port->index ^ 1;

    return nic_ports[peer < nic_n_ports ? peer : port->index];
}

void
nic_interrupt(const struct port *port)
{
    uint32_t count = 1;

    /* If the FIFO is full, the driver has interrupts enough to take. */
    if (write(port->irq_fd, &count, sizeof count) < 0 && errno != EAGAIN) {
        log_info("port %u: cannot raise the interrupt: %s", port->index,
                 strerror(errno));
    }
}

void
nic_interrupt_clear(const struct port *port)
{
    char buffer[4096];

    while (read(port->irq_fd, buffer, sizeof buffer) > 0) {
        continue;
    }
}

/* Rebuilds the lists of active queues. */
static void
update_active(struct port *port)
{
    port->n_active_rxqs = port->n_active_txqs = 0;
    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        if (port->rxqs[i].enabled) {
            port->active_rxqs[port->n_active_rxqs++] = i;
        }
        if (port->txqs[i].enabled) {
            port->active_txqs[port->n_active_txqs++] = i;
        }
    }
    port->rx_config_seq++;
}

void
nic_enable_rxq(struct port *port, struct rx_queue *q)
{
    if (!q->stream) {
        q->stream = stream_create();
    }
    q->enabled = true;
    q->faulted = false;
    q->head = 0;
    q->initial = q->size;
    q->waiting_since = 0;
    update_active(port);
    log_debug("port %u: rx queue %u on: %u descriptors of %u bytes, "
              "buffers of %u bytes, frames up to %u bytes", port->index,
              q->number, q->size, q->desc_size, q->buf_size, q->max_len);
}

void
nic_disable_rxq(struct port *port, struct rx_queue *q)
{
    if (q->enabled) {
        q->enabled = false;
        stream_flush(q->stream);
        update_active(port);
        log_debug("port %u: rx queue %u off", port->index, q->number);
    }
}

void
nic_enable_txq(struct port *port, struct tx_queue *q)
{
    q->enabled = true;
    q->faulted = false;
    q->head = q->next_head = 0;
    q->waiting_since = 0;
    update_active(port);
    log_debug("port %u: tx queue %u on: %u descriptors", port->index,
              q->number, q->size);
}

void
nic_disable_txq(struct port *port, struct tx_queue *q)
{
    if (q->enabled) {
        q->enabled = false;
        update_active(port);
        log_debug("port %u: tx queue %u off", port->index, q->number);
    }
}

void
nic_disable_all(struct port *port)
{
    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        nic_disable_rxq(port, &port->rxqs[i]);
        nic_disable_txq(port, &port->txqs[i]);
    }
}

void
nic_rxq_fault(struct rx_queue *q, unsigned int index)
{
    q->faulted = true;
    log_info("rx queue %u stops: the buffer of descriptor %u is nowhere in "
             "the DPDK process", q->number, index);
}

void
nic_txq_fault(struct tx_queue *q, unsigned int index)
{
    q->faulted = true;
    log_info("tx queue %u stops: the data of descriptor %u is nowhere in "
             "the DPDK process", q->number, index);
}

/* Returns 'frame' with the tag and the checksums it asks for filled in, in
 * 'copy' if anything has to be changed. */
static struct tx_frame
apply_offloads(const struct tx_frame *frame, uint8_t *copy)
{
    struct tx_frame f = *frame;
    struct packet_headers h;

    if (LIKELY(!f.ip_csum && !f.l4_csum && !f.vlan_insert)) {
        return f;
    }
    if (f.vlan_insert && f.len >= ETH_HEADER_LEN) {
        memcpy(copy, f.data, 12);
        put_be16(copy + 12, ETH_TYPE_VLAN);
        put_be16(copy + 14, f.vlan);
        memcpy(copy + 16, f.data + 12, f.len - 12);
        f.len += VLAN_HEADER_LEN;
    } else {
        memcpy(copy, f.data, f.len);
    }
    f.data = copy;

    h = packet_parse(copy, f.len);
    if (f.l4_csum && (h.l4 == L4_UDP || h.l4 == L4_TCP)) {
        /* The driver has put the sum of the pseudo header there. */
        size_t ofs = h.l4_ofs + (h.l4 == L4_UDP ? 6 : 16);
        size_t len = (h.l3 == L3_IPV4
                      ? h.l3_ofs + get_be16(copy + h.l3_ofs + 2)
                      : (h.l3_ofs + IPV6_HEADER_LEN
                         + get_be16(copy + h.l3_ofs + 4)));
        uint16_t sum;

        if (len <= f.len && len > h.l4_ofs) {
            sum = ~ip_sum(copy + h.l4_ofs, len - h.l4_ofs, 0);
            put_be16(copy + ofs, sum || h.l4 == L4_TCP ? sum : 0xffff);
        }
    }
    if (f.ip_csum && h.l3 == L3_IPV4) {
        uint8_t *ip = copy + h.l3_ofs;

        put_be16(ip + 10, 0);
        put_be16(ip + 10, ~ip_sum(ip, (ip[0] & 15) * 4, 0));
    }
    return f;
}

/* Spreads 'frame' over the buffers of 'slots'.  Returns how many it takes, or
 * 0 if 'n' are not enough.  A CRC that the driver wants to keep is there, but
 * its value is not: no driver looks at it. */
static unsigned int
scatter(const struct rx_queue *q, const struct tx_frame *frame,
        const struct rx_meta *meta, struct rx_slot *slots, unsigned int n)
{
    uint32_t total = frame->len + q->crc_len;
    unsigned int need = (total + q->buf_size - 1) / q->buf_size;

    if (need > n) {
        return 0;
    }
    for (unsigned int i = 0; i < need; i++) {
        uint32_t ofs = i * q->buf_size;
        uint32_t left = ofs < frame->len ? frame->len - ofs : 0;

        slots[i].last = i == need - 1;
        slots[i].len = slots[i].last ? total - ofs : q->buf_size;
        slots[i].cast = packet_cast(frame->data);
        slots[i].meta = *meta;
        memcpy(slots[i].data, frame->data + ofs,
               left < q->buf_size ? left : q->buf_size);
    }
    return need;
}

void
nic_receive(struct port *port, const struct tx_frame *frames, unsigned int n)
{
    /* The queue, its reserved descriptors and how many of them are filled. */
    struct rx_queue *q = NULL;
    struct rx_slot slots[NIC_BURST];
    unsigned int n_slots = 0, used = 0;
    uint8_t copy[ETH_MAX_LEN + VLAN_HEADER_LEN];

    for (unsigned int i = 0; i < n; i++) {
        struct tx_frame frame = apply_offloads(&frames[i], copy);
        struct packet_headers h = packet_parse(frame.data, frame.len);
        struct rx_meta meta;
        struct rx_queue *frame_q;
        unsigned int taken = 0;

        port->class->classify(port, frame.data, &h, &meta);
        frame_q = &port->rxqs[meta.queue];
        if (frame_q != q) {
            if (used) {
                port->class->rx_commit(q, slots, used);
            }
            q = frame_q;
            used = 0;
            n_slots = (q->enabled
                       ? port->class->rx_reserve(q, slots, NIC_BURST) : 0);
        }

        port->rx_sizes[packet_size_class(frame.len)]++;
        port->rx_casts[packet_cast(frame.data)]++;
        if (q->enabled && frame.len + ETH_CRC_LEN <= q->max_len) {
            taken = scatter(q, &frame, &meta, slots + used, n_slots - used);
            if (!taken && used) {
                /* Only the reservation may be used up, not the ring. */
                port->class->rx_commit(q, slots, used);
                used = 0;
                n_slots = port->class->rx_reserve(q, slots, NIC_BURST);
                taken = scatter(q, &frame, &meta, slots, n_slots);
            }
        }
        if (taken) {
            used += taken;
            q->n.rx_packets++;
            q->n.rx_bytes += frame.len;
        } else {
            q->n.rx_dropped++;
            q->n.rx_dropped_bytes += frame.len;
        }
    }
    if (used) {
        port->class->rx_commit(q, slots, used);
    }
}

struct rx_counters
nic_sum_rx(const struct port *port)
{
    struct rx_counters sum = { 0 };

    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        const struct rx_counters *n = &port->rxqs[i].n;

#define COUNTER(NAME) sum.NAME += n->NAME;
        RX_COUNTERS
#undef COUNTER
    }
    return sum;
}

struct tx_counters
nic_sum_tx(const struct port *port)
{
    struct tx_counters sum = { 0 };

    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        const struct tx_counters *n = &port->txqs[i].n;

#define COUNTER(NAME) sum.NAME += n->NAME;
        TX_COUNTERS
#undef COUNTER
    }
    return sum;
}
