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

#include "xl710.h"

#include "dma.h"

/* The host memory cache, where the driver puts queue contexts, and the
 * registers that switch queues on and off. */

bool
xl710_hmc_poll(struct port *port)
{
    struct xl710 *chip = port->chip;
    uint32_t command = reg_read(port, PFHMC_SDCMD);
    uint32_t index = command & PFHMC_SDCMD_INDEX_MASK;

    if (LIKELY(!(command & PFHMC_SDCMD_WRITE))) {
        return false;
    }
    if (index < HMC_N_SDS) {
        uint32_t low = reg_read(port, PFHMC_SDDATALOW);
        uint64_t high = reg_read(port, PFHMC_SDDATAHIGH);

        if (!(low & PFHMC_SDDATALOW_VALID)) {
            chip->sds[index] = 0;
        } else if (low & PFHMC_SDDATALOW_DIRECT) {
            chip->sds[index] = high << 32 | (low & PFHMC_SDDATALOW_ADDR_MASK);
        } else {
            log_info("port %u: paged HMC segments are not modelled",
                     port->index);
        }
    } else {
        log_info("port %u: there is no HMC segment %u", port->index, index);
    }
    reg_write(port, PFHMC_SDCMD, command & ~PFHMC_SDCMD_WRITE);
    return true;
}

/* Returns context number 'i' of 'size' bytes of the contexts whose base is in
 * register 'base', or NULL. */
static const uint8_t *
hmc_context(const struct port *port, uint32_t base, unsigned int i,
            unsigned int size)
{
    const struct xl710 *chip = port->chip;
    uint64_t ofs = ((uint64_t) (reg_read(port, base) & GLHMC_LANBASE_MASK)
                    * GLHMC_LANBASE_UNIT + (uint64_t) i * size);
    uint64_t segment = ofs / HMC_SD_SIZE;

    if (segment >= HMC_N_SDS || !chip->sds[segment]) {
        return NULL;
    }
    return dma_ptr(chip->sds[segment] + ofs % HMC_SD_SIZE, size);
}

/* As the driver's user counts queues; queues before the main VSI's (that of
 * the flow director) get numbers from the end. */
static uint16_t
queue_number(const struct port *port, unsigned int i)
{
    const struct xl710 *chip = port->chip;

    return (i + XL710_N_QUEUES - chip->queue_base) % XL710_N_QUEUES;
}

/* Switches Rx queue 'i' on.  Returns false if its context makes no sense. */
static bool
enable_rxq(struct port *port, unsigned int i)
{
    const uint8_t *context = hmc_context(port, GLHMC_LANRXBASE0, i,
                                         HMC_RX_CONTEXT_SIZE);
    struct rx_queue *q = &port->rxqs[i];

    if (!context) {
        return false;
    }
    q->number = queue_number(port, i);
    q->size = bit_field(context, HMC_RX_QLEN);
    q->desc_size = bit_field(context, HMC_RX_DSIZE) ? 32 : 16;
    q->buf_size = bit_field(context, HMC_RX_DBUFF) * HMC_RX_DBUFF_UNIT;
    q->max_len = bit_field(context, HMC_RX_RXMAX);
    q->tail = (const volatile uint32_t *) (port->bar + QRX_TAIL(i));
    if (q->size < 8 || !q->buf_size) {
        return false;
    }
    if (bit_field(context, HMC_RX_DTYPE)) {
        log_info("port %u: header split is not modelled", port->index);
        return false;
    }
    q->crc_len = bit_field(context, HMC_RX_CRCSTRIP) ? 0 : ETH_CRC_LEN;
    q->ring = dma_ptr(bit_field(context, HMC_BASE) * HMC_BASE_UNIT,
                      (uint32_t) q->size * q->desc_size);
    if (!q->ring) {
        return false;
    }
    nic_enable_rxq(port, q);
    return true;
}

/* Switches Tx queue 'i' on.  Returns false if its context makes no sense. */
static bool
enable_txq(struct port *port, unsigned int i)
{
    const uint8_t *context = hmc_context(port, GLHMC_LANTXBASE0, i,
                                         HMC_TX_CONTEXT_SIZE);
    struct tx_queue *q = &port->txqs[i];

    if (!context) {
        return false;
    }
    q->number = queue_number(port, i);
    q->size = bit_field(context, HMC_TX_QLEN);
    q->tail = (const volatile uint32_t *) (port->bar + QTX_TAIL(i));
    if (q->size < 8) {
        return false;
    }
    if (bit_field(context, HMC_TX_HEAD_WB)) {
        log_info("port %u: Tx head write-back is not modelled",
                 port->index);
        return false;
    }
    q->ring = dma_ptr(bit_field(context, HMC_BASE) * HMC_BASE_UNIT,
                      (uint32_t) q->size * TXD_SIZE);
    if (!q->ring) {
        return false;
    }
    nic_enable_txq(port, q);
    return true;
}

/* Serves the enable register at 'ofs' of queue 'i', whose value was '*seen'
 * when it was last served.  Returns true if it asked for a change. */
static bool
serve_enable(struct port *port, uint32_t ofs, unsigned int i, bool rx,
             uint32_t *seen)
{
    uint32_t value = reg_read(port, ofs);
    bool enabled = rx ? port->rxqs[i].enabled : port->txqs[i].enabled;
    bool wanted = value & QENA_REQ;

    *seen = value;
    if (wanted == enabled && wanted == !!(value & QENA_STAT)) {
        return false;
    }
    if (wanted && !enabled) {
        /* A moment at which drivers have just allocated memory. */
        dma_refresh();
        xl710_rss_update(port);
        if (!(rx ? enable_rxq(port, i) : enable_txq(port, i))) {
            log_info("port %u: cannot switch on %s queue %u",
                     port->index, rx ? "rx" : "tx", i);
            reg_write(port, ofs, value & ~(QENA_REQ | QENA_STAT));
            return true;
        }
    } else if (!wanted && enabled) {
        if (rx) {
            nic_disable_rxq(port, &port->rxqs[i]);
        } else {
            nic_disable_txq(port, &port->txqs[i]);
        }
    }

    /* If the driver has written the register meanwhile, next time. */
    __atomic_compare_exchange_n((uint32_t *) (port->bar + ofs), &value,
                                (wanted ? value | QENA_STAT
                                 : value & ~QENA_STAT),
                                false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return true;
}

/* Serves the enable registers from 'ofs' on, one per queue, if they differ
 * from 'seen'.  Returns true if one of them asked for a change. */
static bool
serve_enables(struct port *port, uint32_t ofs, bool rx,
              uint32_t seen[XL710_N_QUEUES])
{
    bool worked = false;

    if (LIKELY(!memcmp(port->bar + ofs, seen,
                       XL710_N_QUEUES * sizeof *seen))) {
        return false;
    }
    for (unsigned int i = 0; i < XL710_N_QUEUES; i++) {
        worked |= serve_enable(port, ofs + i * 4, i, rx, &seen[i]);
    }
    return worked;
}

bool
xl710_queues_poll(struct port *port)
{
    struct xl710 *chip = port->chip;
    bool worked = false;

    worked |= serve_enables(port, QTX_ENA(0), false, chip->tx_ena);
    worked |= serve_enables(port, QRX_ENA(0), true, chip->rx_ena);
    return worked;
}
