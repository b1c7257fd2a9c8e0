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

#ifndef NICSIM_NIC_H
#define NICSIM_NIC_H 1

/* The part of a software NIC that does not depend on the chip: ports, queues
 * and their counters, and what a chip has to provide.
 *
 * One thread runs everything.  A driver enables a queue through the chip's
 * registers; from then on the port moves frames through it: nic_class's
 * rx_reserve() and rx_commit() give frames to the host, tx_fetch() and
 * tx_commit() take frames from the host, always in bursts. */

#include "packet.h"
#include "util.h"

#include <stdio.h>

#define NIC_MAX_PORTS 4
#define NIC_MAX_QUEUES 128

/* Most frames that are moved at a time. */
#define NIC_BURST 64

struct generator;
struct stream;
struct port;

/* Counters of an Rx queue.  All grow only; clearing subtracts a snapshot. */
#define RX_COUNTERS                                                     \
    /* Frames written to the host, and their bytes without CRC. */      \
    COUNTER(rx_packets)                                                 \
    COUNTER(rx_bytes)                                                   \
    /* Frames that found no descriptor. */                              \
    COUNTER(rx_dropped)                                                 \
    /* Bytes of the frames in rx_dropped. */                            \
    COUNTER(rx_dropped_bytes)                                           \
    /* Descriptors used that the driver had posted by its recycling     \
     * callback, by its own rearm, and when it started the queue. */    \
    COUNTER(refill_recycled)                                            \
    COUNTER(refill_rearmed)                                             \
    COUNTER(refill_initial)

/* Counters of a Tx queue. */
#define TX_COUNTERS                                                     \
    /* Frames sent by the host, and their bytes without CRC. */         \
    COUNTER(tx_packets)                                                 \
    COUNTER(tx_bytes)                                                   \
    /* Frames discarded because the link is down. */                    \
    COUNTER(tx_dropped)                                                 \
    /* Frames that ask for what the model does not do (TSO), or with    \
     * descriptors that make no sense.  Discarded. */                   \
    COUNTER(tx_unsupported)

#define COUNTER(NAME) uint64_t NAME;
struct rx_counters { RX_COUNTERS };
struct tx_counters { TX_COUNTERS };
#undef COUNTER

/* What a NIC writes into an Rx descriptor about a frame. */
struct rx_meta {
    uint32_t hash;              /* RSS hash. */
    uint16_t queue;             /* Index into port's rxqs[]. */
    uint8_t ptype;              /* Packet type, in the chip's numbers. */
    bool hashed;                /* 'hash' is valid. */
};

/* An Rx descriptor about to be used. */
struct rx_slot {
    uint8_t *data;              /* The host's buffer. */
    uint32_t len;               /* Bytes put there. */
    bool last;                  /* Ends a frame. */
    enum cast cast;             /* Of the frame. */
    struct rx_meta meta;        /* Of the frame. */
};

/* A frame the host sends.  Valid until tx_commit(). */
struct tx_frame {
    const uint8_t *data;        /* In the host, or a gathered copy. */
    uint32_t len;               /* Bytes, without CRC. */
    bool ip_csum;               /* NIC is to fill in the IP checksum. */
    bool l4_csum;               /* NIC is to fill in the TCP/UDP checksum. */
    bool vlan_insert;           /* NIC is to insert a tag with 'vlan'. */
    uint16_t vlan;              /* Tag control information. */
};

/* A receive queue.  Descriptors [head, *tail) belong to the NIC. */
struct rx_queue {
    bool enabled;               /* By the driver. */
    bool faulted;               /* Stopped after a DMA fault. */
    uint16_t number;            /* As the driver's user counts. */
    uint16_t size;              /* Descriptors. */
    uint16_t head;              /* Next descriptor to use. */
    uint16_t desc_size;         /* Bytes of a descriptor. */
    uint32_t buf_size;          /* Bytes of a buffer. */
    uint32_t max_len;           /* Longest frame, bytes with CRC. */
    uint32_t crc_len;           /* Bytes of CRC that are kept: 0 or 4. */
    uint32_t initial;           /* Descriptors left of the first fill. */
    uint8_t *ring;              /* Descriptors, in the host. */
    const volatile uint32_t *tail;  /* Doorbell register. */
    uint64_t waiting_since;     /* TSC since a short burst waits, or 0. */
    struct rx_counters n;       /* Counters. */
    struct rx_counters base;    /* Snapshot when they were cleared. */
    struct stream *stream;      /* Generated frames; NULL until needed. */
};

/* A transmit queue.  Descriptors [head, *tail) belong to the NIC. */
struct tx_queue {
    bool enabled;               /* By the driver. */
    bool faulted;               /* Stopped after a DMA fault. */
    uint16_t number;            /* As the driver's user counts. */
    uint16_t size;              /* Descriptors. */
    uint16_t head;              /* Next descriptor to fetch. */
    uint16_t next_head;         /* 'head' after tx_commit(). */
    uint8_t *ring;              /* Descriptors, in the host. */
    const volatile uint32_t *tail;  /* Doorbell register. */
    uint64_t waiting_since;     /* TSC since a short burst waits, or 0. */
    struct tx_counters n;       /* Counters. */
    struct tx_counters base;    /* Snapshot when they were cleared. */
};

/* A chip.  Functions are called for one port at a time. */
struct nic_class {
    const char *name;           /* For messages. */
    uint16_t device_ids[8];     /* PCI device ids, 0 ends. */
    size_t bar_size;            /* Bytes of registers. */

    /* Allocates port->chip and puts the registers into their power-on
     * state. */
    void (*construct)(struct port *);

    /* Does what a function-level reset does: disables all queues. */
    void (*reset)(struct port *);

    /* Serves registers that a driver waits for.  Called every few
     * microseconds.  Returns true if it did something. */
    bool (*poll)(struct port *);

    /* Updates statistics registers and looks for changed settings.  Called
     * about once per millisecond. */
    void (*tick)(struct port *);

    /* Tells the driver that port->link_up changed. */
    void (*link_changed)(struct port *);

    /* Fills in the queue, hash and packet type for a frame. */
    void (*classify)(const struct port *, const uint8_t *frame,
                     const struct packet_headers *, struct rx_meta *);

    /* Prepares up to 'n' <= NIC_BURST descriptors of 'q' and sets their
     * 'data'.  Returns how many. */
    unsigned int (*rx_reserve)(struct rx_queue *q, struct rx_slot *,
                               unsigned int n);

    /* Hands the first 'n' of the reserved descriptors to the host. */
    void (*rx_commit)(struct rx_queue *q, const struct rx_slot *,
                      unsigned int n);

    /* Takes up to 'n' <= NIC_BURST frames from 'q' without giving their
     * descriptors back.  Returns how many. */
    unsigned int (*tx_fetch)(struct port *, struct tx_queue *q,
                             struct tx_frame *, unsigned int n);

    /* Gives the descriptors of the last tx_fetch() back to the host. */
    void (*tx_commit)(struct tx_queue *q);
};

struct port {
    const struct nic_class *class;
    void *chip;                 /* The chip's own state. */
    unsigned int index;         /* Number of this port. */
    char pci[32];               /* PCI address, "0000:04:00.0". */
    uint8_t *bar;               /* Registers, shared with the driver. */
    int bar_fd;                 /* File of the registers. */
    int irq_fd;                 /* FIFO that stands for the interrupt. */
    unsigned int dma_device;    /* Number for dma.h. */
    uint8_t mac[ETH_ALEN];      /* Station address. */
    bool link_up;               /* State of the cable. */

    struct rx_queue rxqs[NIC_MAX_QUEUES];
    struct tx_queue txqs[NIC_MAX_QUEUES];
    uint16_t active_rxqs[NIC_MAX_QUEUES];   /* Enabled data queues. */
    uint16_t active_txqs[NIC_MAX_QUEUES];
    unsigned int n_active_rxqs;
    unsigned int n_active_txqs;

    /* Changes whenever classify() may give other answers than before. */
    unsigned int rx_config_seq;

    /* Frames by size and address, for the chip's statistics. */
    uint64_t rx_sizes[N_SIZE_CLASSES];
    uint64_t tx_sizes[N_SIZE_CLASSES];
    uint64_t rx_casts[N_CASTS];
    uint64_t tx_casts[N_CASTS];

    struct generator *generator;
};

extern const struct nic_class xl710_class;

/* All ports. */
extern struct port *nic_ports[NIC_MAX_PORTS];
extern unsigned int nic_n_ports;

/* Opens the device in folder 'dir'/'pci', which has a name that is a PCI
 * address, and adds it to nic_ports.  Ends the process with a message if that
 * is not possible. */
void nic_open(const char *dir, const char *pci);

/* Returns the port at the other end of the cable of 'port' in loop mode: its
 * neighbour, or itself if there is none. */
struct port *nic_peer(const struct port *port);

/* Raises the interrupt of 'port'. */
void nic_interrupt(const struct port *port);

/* Forgets interrupts that nobody took. */
void nic_interrupt_clear(const struct port *port);

/* For chips: enables 'q' (filled in but for the counters) or disables it.
 * Frames under way in a disabled Rx queue are lost. */
void nic_enable_rxq(struct port *, struct rx_queue *q);
void nic_disable_rxq(struct port *, struct rx_queue *q);
void nic_enable_txq(struct port *, struct tx_queue *q);
void nic_disable_txq(struct port *, struct tx_queue *q);

/* Disables all queues. */
void nic_disable_all(struct port *);

/* Gives 'n' frames that arrive on the wire to the host, or drops them. */
void nic_receive(struct port *, const struct tx_frame *, unsigned int n);

/* Says that 'q' is stopped because of a bad address in descriptor 'index'. */
void nic_rxq_fault(struct rx_queue *q, unsigned int index);
void nic_txq_fault(struct tx_queue *q, unsigned int index);

/* Returns the sum of all Rx (Tx) queues' counters since the start. */
struct rx_counters nic_sum_rx(const struct port *);
struct tx_counters nic_sum_tx(const struct port *);

/* Returns how many descriptors of the ring of 'size' from 'head' to the
 * doorbell belong to the NIC; 0 if the doorbell makes no sense. */
static inline unsigned int
ring_pending(const volatile uint32_t *doorbell, unsigned int head,
             unsigned int size)
{
    uint32_t tail = __atomic_load_n(doorbell, __ATOMIC_ACQUIRE);

    if (UNLIKELY(tail >= size)) {
        return 0;
    }
    return tail >= head ? tail - head : tail + size - head;
}

/* Registers of a port. */
static inline uint32_t
reg_read(const struct port *port, uint32_t ofs)
{
    return __atomic_load_n((const uint32_t *) (port->bar + ofs),
                           __ATOMIC_ACQUIRE);
}

static inline void
reg_write(struct port *port, uint32_t ofs, uint32_t value)
{
    __atomic_store_n((uint32_t *) (port->bar + ofs), value,
                     __ATOMIC_RELEASE);
}

#endif /* nic.h */
