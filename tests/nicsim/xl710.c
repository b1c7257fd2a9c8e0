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

/* Ticks between looks at the RSS settings. */
#define RSS_TICKS 16

/* Sets the registers whose value the driver finds. */
static void
set_constants(struct port *port)
{
    reg_write(port, GLNVM_ULD,
              GLNVM_ULD_CONF_CORE_DONE | GLNVM_ULD_CONF_GLOBAL_DONE);
    reg_write(port, GLNVM_GENS, GLNVM_GENS_SR_SIZE_64K);
    reg_write(port, GLNVM_FLA, GLNVM_FLA_LOCKED);
    reg_write(port, GLNVM_SRCTL, GLNVM_SRCTL_DONE);
    reg_write(port, GLGEN_RSTCTL, GLGEN_RSTCTL_GRSTDEL_MAX);
    reg_write(port, GLGEN_RSTAT, 0);
    reg_write(port, GLPCI_CNF2, (129u << GLPCI_CNF2_MSI_X_PF_N_SHIFT
                                 | 5u << GLPCI_CNF2_MSI_X_VF_N_SHIFT));
    reg_write(port, PFLAN_QALLOC,
              ((XL710_N_QUEUES - 1) << PFLAN_QALLOC_LASTQ_SHIFT
               | PFLAN_QALLOC_VALID));
    reg_write(port, GLHMC_LANTXOBJSZ, 7);   /* Powers of two. */
    reg_write(port, GLHMC_LANRXOBJSZ, 5);
    reg_write(port, GLHMC_LANQMAX, 1536);
    reg_write(port, GLHMC_FCOEDDPOBJSZ, 6);
    reg_write(port, GLHMC_FCOEFOBJSZ, 6);
    reg_write(port, GLHMC_FCOEMAX, 0);
    reg_write(port, GLHMC_FCOEFMAX, 0x9000);
    reg_write(port, PRTMAC_MACC, 0);
    reg_write(port, PFGEN_PORTNUM, 0);
    reg_write(port, PF_FUNC_RID, 0);
    reg_write(port, GL_FWSTS, 0);
}

static void
set_link(struct port *port)
{
    reg_write(port, PRTMAC_LINKSTA,
              (port->link_up
               ? PRTMAC_LINKSTA_UP | PRTMAC_LINKSTA_SPEED_40G : 0));
}

static void
xl710_reset(struct port *port)
{
    static const uint32_t cleared[] = {
        PF_ATQLEN, PF_ATQH, PF_ATQT, PF_ARQLEN, PF_ARQH, PF_ARQT,
        PFHMC_SDCMD, PFINT_ICR0, PFINT_DYN_CTL0, PFQF_HENA(0), PFQF_HENA(1),
    };
    struct xl710 *chip = port->chip;

    nic_disable_all(port);
    for (unsigned int i = 0; i < XL710_N_QUEUES; i++) {
        reg_write(port, QTX_ENA(i), 0);
        reg_write(port, QRX_ENA(i), 0);
        reg_write(port, QTX_TAIL(i), 0);
        reg_write(port, QRX_TAIL(i), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(cleared); i++) {
        reg_write(port, cleared[i], 0);
    }
    set_constants(port);
    set_link(port);

    memset(chip->sds, 0, sizeof chip->sds);
    memset(chip->vsis, 0, sizeof chip->vsis);
    chip->n_vsis = 0;
    chip->aq_shut_down = false;
    chip->link_events = false;
    chip->queue_base = 0;
    nic_interrupt_clear(port);
    xl710_rss_update(port);
}

static void
xl710_construct(struct port *port)
{
    const uint8_t mac[ETH_ALEN] = {
        0x3c, 0xfd, 0xfe, 0x00, 0x00, 0x10 + port->index
    };

    port->chip = xzalloc(1, sizeof(struct xl710));
    memcpy(port->mac, mac, ETH_ALEN);
    memset(port->bar, 0, XL710_BAR_SIZE);
    reg_write(port, GLQF_CTL, GLQF_CTL_HTOEP);
    xl710_reset(port);
}

/* Returns word 'address' of the NVM's shadow RAM. */
static uint16_t
nvm_word(unsigned int address)
{
    static const struct {
        uint16_t address;
        uint16_t value;
    } words[] = {
        { NVM_WORD_BOOT_CONFIG, 0x100 },
        { NVM_WORD_DEV_STARTER, 0x9020 },
        { NVM_WORD_EETRACK_LO, 0x1234 },
        { NVM_WORD_EETRACK_HI, 0x8000 },
        { NVM_WORD_EMP_MODULE, 0x200 },
        { NVM_WORD_LLDP_STATUS, 0xf },
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (words[i].address == address) {
            return words[i].value;
        }
    }
    return 0;
}

/* Serves the register interface to the NVM. */
static bool
nvm_poll(struct port *port)
{
    uint32_t ctl = reg_read(port, GLNVM_SRCTL);
    uint32_t address;

    if (LIKELY(!(ctl & GLNVM_SRCTL_START))) {
        return false;
    }
    address = ctl >> GLNVM_SRCTL_ADDR_SHIFT & GLNVM_SRCTL_ADDR_MASK;
    reg_write(port, GLNVM_SRDATA,
              (uint32_t) nvm_word(address) << GLNVM_SRDATA_RDDATA_SHIFT);
    reg_write(port, GLNVM_SRCTL, GLNVM_SRCTL_DONE);
    return true;
}

/* The cause register of interrupt 0 is cleared by reading it, which plain
 * memory does not show: clears it when the driver has taken all events. */
static void
clear_interrupt_cause(struct port *port)
{
    uint32_t n = reg_read(port, PF_ARQLEN) & PF_AQLEN_LEN_MASK;

    if (reg_read(port, PFINT_ICR0) && n
        && (reg_read(port, PF_ARQT) + 1) % n == reg_read(port, PF_ARQH)) {
        reg_write(port, PFINT_ICR0, 0);
    }
}

static bool
xl710_poll(struct port *port)
{
    bool worked = false;

    if (UNLIKELY(reg_read(port, PFGEN_CTRL) & PFGEN_CTRL_PFSWR)) {
        log_debug("port %u: PF reset", port->index);
        xl710_reset(port);
        reg_write(port, PFGEN_CTRL, 0);
        worked = true;
    }
    worked |= nvm_poll(port);
    worked |= xl710_hmc_poll(port);
    worked |= xl710_aq_poll(port);
    worked |= xl710_queues_poll(port);
    clear_interrupt_cause(port);
    return worked;
}

/* Writes a 48-bit statistics counter, high half first: a driver that reads
 * both halves on their own must not see the low half wrap alone too soon. */
static void
put_48(struct port *port, uint32_t ofs, uint64_t value)
{
    reg_write(port, ofs + 4, value >> 32 & 0xffff);
    reg_write(port, ofs, value);
}

/* Publishes the counters.  The VSI counts what arrives for it, including what
 * finds no descriptor (GLV_RDPC); bytes are with CRC. */
static void
update_statistics(struct port *port)
{
    const unsigned int vsi = XL710_STAT_COUNTER;
    struct rx_counters rx = nic_sum_rx(port);
    struct tx_counters tx = nic_sum_tx(port);
    uint64_t rx_octets = (rx.rx_bytes + rx.rx_dropped_bytes
                          + (rx.rx_packets + rx.rx_dropped) * ETH_CRC_LEN);
    uint64_t tx_octets = tx.tx_bytes + tx.tx_packets * ETH_CRC_LEN;

    put_48(port, GLV_GORC(vsi), rx_octets);
    put_48(port, GLV_UPRC(vsi), port->rx_casts[CAST_UNICAST]);
    put_48(port, GLV_MPRC(vsi), port->rx_casts[CAST_MULTICAST]);
    put_48(port, GLV_BPRC(vsi), port->rx_casts[CAST_BROADCAST]);
    reg_write(port, GLV_RDPC(vsi), rx.rx_dropped);
    put_48(port, GLV_GOTC(vsi), tx_octets);
    put_48(port, GLV_UPTC(vsi), port->tx_casts[CAST_UNICAST]);
    put_48(port, GLV_MPTC(vsi), port->tx_casts[CAST_MULTICAST]);
    put_48(port, GLV_BPTC(vsi), port->tx_casts[CAST_BROADCAST]);

    put_48(port, GLPRT_GORC, rx_octets);
    put_48(port, GLPRT_UPRC, port->rx_casts[CAST_UNICAST]);
    put_48(port, GLPRT_MPRC, port->rx_casts[CAST_MULTICAST]);
    put_48(port, GLPRT_BPRC, port->rx_casts[CAST_BROADCAST]);
    put_48(port, GLPRT_GOTC, tx_octets);
    put_48(port, GLPRT_UPTC, port->tx_casts[CAST_UNICAST]);
    put_48(port, GLPRT_MPTC, port->tx_casts[CAST_MULTICAST]);
    put_48(port, GLPRT_BPTC, port->tx_casts[CAST_BROADCAST]);
    reg_write(port, GLPRT_TDOLD, tx.tx_dropped);
    for (unsigned int i = 0; i < N_SIZE_CLASSES; i++) {
        put_48(port, GLPRT_PRC(i), port->rx_sizes[i]);
        put_48(port, GLPRT_PTC(i), port->tx_sizes[i]);
    }
}

static void
xl710_tick(struct port *port)
{
    struct xl710 *chip = port->chip;

    update_statistics(port);
    if (chip->n_ticks++ % RSS_TICKS == 0) {
        xl710_rss_update(port);
    }
}

static void
xl710_link_changed(struct port *port)
{
    set_link(port);
    xl710_aq_link_event(port);
}

const struct nic_class xl710_class = {
    .name = "XL710",
    .device_ids = { 0x1583, 0x1584, 0x1572, 0x1580, 0x1581, 0x158b },
    .bar_size = XL710_BAR_SIZE,
    .construct = xl710_construct,
    .reset = xl710_reset,
    .poll = xl710_poll,
    .tick = xl710_tick,
    .link_changed = xl710_link_changed,
    .classify = xl710_classify,
    .rx_reserve = xl710_rx_reserve,
    .rx_commit = xl710_rx_commit,
    .tx_fetch = xl710_tx_fetch,
    .tx_commit = xl710_tx_commit,
};
