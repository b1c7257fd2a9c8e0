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

#include <inttypes.h>

#include "dma.h"

/* The admin queue: commands of the driver to the firmware, and events.
 *
 * Commands that only adjust what the model does not have (MAC and VLAN
 * filters, LLDP, bandwidth limits, PHY settings) succeed without effect.
 * Unknown ones fail with ESRCH, as the firmware does, and are counted. */

uint64_t xl710_aq_unknown;

/* An element of the answer to "list capabilities". */
struct capability {
    uint16_t id;                /* AQ_CAP_*. */
    uint8_t major;              /* Revision. */
    uint8_t minor;
    uint32_t number;            /* How many, or just 1. */
    uint32_t logical_id;        /* Meaning depends on the capability. */
    uint32_t phys_id;
    uint8_t reserved[16];
};

static const struct capability capabilities[] = {
    { .id = AQ_CAP_SWITCH_MODE, .major = 1, .number = 0 },
    { .id = AQ_CAP_MNG_MODE, .major = 1, .number = 0 },
    { .id = AQ_CAP_FUNCTIONS_VALID, .major = 1, .number = 1 },
    { .id = AQ_CAP_VMDQ, .major = 1, .number = 0 },
    { .id = AQ_CAP_VSI, .major = 1, .number = 64 },
    /* One traffic class of eight; drivers insist on this capability. */
    { .id = AQ_CAP_DCB, .major = 1, .number = 1,
      .logical_id = 1, .phys_id = 8 },
    /* Entries of the lookup table and bits of an entry. */
    { .id = AQ_CAP_RSS, .major = 1, .number = 512, .logical_id = 6 },
    { .id = AQ_CAP_RXQ, .major = 1, .number = XL710_N_QUEUES },
    { .id = AQ_CAP_TXQ, .major = 1, .number = XL710_N_QUEUES },
    { .id = AQ_CAP_MSIX, .major = 1, .number = 129 },
    { .id = AQ_CAP_VF_MSIX, .major = 1, .number = 5 },
    { .id = AQ_CAP_FLOW_DIRECTOR, .major = 1, .number = 512,
      .logical_id = 7168 },
    { .id = AQ_CAP_MDIO, .major = 1, .number = 1 },
};
_Static_assert(sizeof(struct capability) == 32, "size of a capability");

/* A command being executed. */
struct command {
    struct port *port;
    struct aq_desc *desc;       /* Command, becomes the answer. */
    uint8_t *buffer;            /* Its buffer, or NULL. */
    size_t size;                /* Bytes of 'buffer'. */
};

/* Puts 'len' bytes of zeros into the buffer.  Returns false if it is too
 * small. */
static bool
clear_buffer(struct command *c, size_t len)
{
    if (c->size < len) {
        return false;
    }
    memset(c->buffer, 0, len);
    return true;
}

static uint16_t
get_version(struct command *c)
{
    c->desc->param.word[0] = 0;         /* ROM. */
    c->desc->param.word[1] = 1;         /* Firmware build. */
    c->desc->param.half[4] = 9;         /* Firmware 9.20, ... */
    c->desc->param.half[5] = 20;
    c->desc->param.half[6] = 1;         /* ... API 1.15. */
    c->desc->param.half[7] = 15;
    return AQ_RC_OK;
}

static uint16_t
list_capabilities(struct command *c)
{
    if (!clear_buffer(c, sizeof capabilities)) {
        return AQ_RC_EINVAL;
    }
    memcpy(c->buffer, capabilities, sizeof capabilities);
    c->desc->datalen = sizeof capabilities;
    c->desc->param.word[1] = ARRAY_SIZE(capabilities);
    return AQ_RC_OK;
}

static uint16_t
mac_read(struct command *c)
{
    /* LAN, SAN, port and wake-up address; the first and third are valid. */
    if (!clear_buffer(c, 4 * ETH_ALEN)) {
        return AQ_RC_EINVAL;
    }
    memcpy(c->buffer, c->port->mac, ETH_ALEN);
    memcpy(c->buffer + 2 * ETH_ALEN, c->port->mac, ETH_ALEN);
    c->desc->param.half[0] = 0x10 | 0x40;
    return AQ_RC_OK;
}

static uint16_t
mac_write(struct command *c)
{
    const uint8_t *p = c->desc->param.bytes;
    const uint8_t mac[ETH_ALEN] = { p[3], p[2], p[7], p[6], p[5], p[4] };

    memcpy(c->port->mac, mac, ETH_ALEN);
    return AQ_RC_OK;
}

static uint16_t
get_switch_config(struct command *c)
{
    uint8_t *element = c->buffer + 16;

    /* One element: the main VSI, connected to the port. */
    if (!clear_buffer(c, 32)) {
        return AQ_RC_EINVAL;
    }
    put_u16(c->buffer, 1);              /* Reported. */
    put_u16(c->buffer + 2, 1);          /* Total. */
    element[0] = 19;                    /* A VSI. */
    element[1] = 1;                     /* Revision. */
    put_u16(element + 2, VSI_SEID_BASE);
    put_u16(element + 4, 2);            /* Uplink: the MAC. */
    put_u16(element + 6, 16);           /* Downlink: the PF. */
    element[11] = 1;                    /* Regular connection. */
    c->desc->param.half[0] = 0;         /* No more elements. */
    return AQ_RC_OK;
}

/* Returns the offset of the register that word 1 names, or UINT32_MAX. */
static uint32_t
register_address(const struct command *c)
{
    uint32_t address = c->desc->param.word[1];

    return address < XL710_BAR_SIZE && !(address & 3) ? address : UINT32_MAX;
}

static uint16_t
register_read(struct command *c)
{
    uint32_t address = register_address(c);

    if (address == UINT32_MAX) {
        return AQ_RC_EINVAL;
    }
    c->desc->param.word[2] = 0;
    c->desc->param.word[3] = reg_read(c->port, address);
    return AQ_RC_OK;
}

static uint16_t
register_write(struct command *c)
{
    uint32_t address = register_address(c);

    if (address == UINT32_MAX) {
        return AQ_RC_EINVAL;
    }
    reg_write(c->port, address, c->desc->param.word[3]);
    return AQ_RC_OK;
}

/* Fills in the firmware's part of the properties of VSI 'number'. */
static void
complete_vsi(struct xl710 *chip, unsigned int number)
{
    uint8_t *data = chip->vsis[number];

    for (unsigned int i = 0; i < 8; i++) {
        put_u16(data + VSI_OFS_QS_HANDLE + i * 2,
                i ? VSI_QS_HANDLE_INVALID : 16 + number);
    }
    put_u16(data + VSI_OFS_STAT_COUNTER, XL710_STAT_COUNTER + number);
    put_u16(data + VSI_OFS_SCHED_ID, 0);
}

/* Fills in the answer to a command about VSI 'number'. */
static void
vsi_answer(struct command *c, unsigned int number)
{
    struct xl710 *chip = c->port->chip;

    c->desc->param.half[0] = VSI_SEID_BASE + number;
    c->desc->param.half[1] = number;
    c->desc->param.half[2] = chip->n_vsis + 1;
    c->desc->param.half[3] = VSI_N - 1 - chip->n_vsis;
}

static uint16_t
add_vsi(struct command *c)
{
    struct xl710 *chip = c->port->chip;
    unsigned int number;

    if (c->size < VSI_DATA_SIZE) {
        return AQ_RC_EINVAL;
    }
    if (chip->n_vsis + 1 >= VSI_N) {
        return AQ_RC_ENOSPC;
    }
    number = ++chip->n_vsis;
    memcpy(chip->vsis[number], c->buffer, VSI_DRIVER_SIZE);
    complete_vsi(chip, number);
    memcpy(c->buffer, chip->vsis[number], VSI_DATA_SIZE);
    vsi_answer(c, number);
    return AQ_RC_OK;
}

/* Takes the queues of the main VSI from its properties. */
static void
update_main_vsi(struct port *port)
{
    struct xl710 *chip = port->chip;
    const uint8_t *data = chip->vsis[0];

    if (get_u16(data + VSI_OFS_VALID_SECTIONS) & VSI_QUEUE_MAP_VALID) {
        uint16_t base = get_u16(data + VSI_OFS_QUEUE_MAPPING);
        uint16_t tc = get_u16(data + VSI_OFS_TC_MAPPING);

        if (get_u16(data + VSI_OFS_MAPPING_FLAGS)
            & VSI_QUEUE_MAP_NONCONTIG) {
            log_info("port %u: a VSI with queues in no order is not "
                     "modelled", port->index);
            return;
        }
        chip->queue_base = ((base & VSI_QUEUE_MASK)
                            + (tc & VSI_TC_OFFSET_MASK)) % XL710_N_QUEUES;
        port->rx_config_seq++;
    }
}

static uint16_t
get_or_update_vsi(struct command *c)
{
    struct xl710 *chip = c->port->chip;
    unsigned int number = c->desc->param.half[0] - VSI_SEID_BASE;

    if (number > chip->n_vsis) {
        return AQ_RC_ENOENT;
    }
    if (c->size < VSI_DATA_SIZE) {
        return AQ_RC_EINVAL;
    }
    if (c->desc->opcode == AQ_OP_UPDATE_VSI) {
        memcpy(chip->vsis[number], c->buffer, VSI_DRIVER_SIZE);
        if (number == 0) {
            update_main_vsi(c->port);
        }
    }
    complete_vsi(chip, number);
    if (c->desc->opcode == AQ_OP_GET_VSI) {
        memcpy(c->buffer, chip->vsis[number], VSI_DATA_SIZE);
    }
    vsi_answer(c, number);
    return AQ_RC_OK;
}

static uint16_t
add_veb(struct command *c)
{
    c->desc->param.half[4] = 288;       /* Switch element id. */
    c->desc->param.half[5] = 1;         /* Statistics index, ... */
    c->desc->param.half[6] = 1;         /* ... VEBs used, ... */
    c->desc->param.half[7] = 15;        /* ... and free. */
    return AQ_RC_OK;
}

static uint16_t
get_veb(struct command *c)
{
    c->desc->param.half[1] = 1;
    c->desc->param.half[2] = 0;
    c->desc->param.half[3] = 1;
    c->desc->param.half[4] = 1;
    c->desc->param.half[5] = 15;
    return AQ_RC_OK;
}

/* The model accepts any frame, so filters have no effect: answers that each
 * was added or removed.  Byte 'result' of each element of 16 bytes says so. */
static uint16_t
macvlan(struct command *c, size_t result)
{
    unsigned int n = c->desc->param.half[0];

    for (size_t i = 0; i < n && (i + 1) * 16 <= c->size; i++) {
        c->buffer[i * 16 + result] = 0;
    }
    c->desc->param.half[2] = n;
    c->desc->param.half[3] = 1000;      /* Filters that are free. */
    return AQ_RC_OK;
}

static uint16_t
set_vsi_tc_bw(struct command *c)
{
    uint8_t classes;

    if (c->size < 32) {
        return AQ_RC_EINVAL;
    }
    classes = c->buffer[0];
    for (unsigned int i = 0; i < 8; i++) {
        put_u16(c->buffer + 16 + i * 2,
                classes >> i & 1 ? 16 + i : VSI_QS_HANDLE_INVALID);
    }
    return AQ_RC_OK;
}

static uint16_t
query_vsi_bw(struct command *c)
{
    if (!clear_buffer(c, 64)) {
        return AQ_RC_EINVAL;
    }
    c->buffer[0] = 1;                   /* Traffic class 0 is valid. */
    put_u16(c->buffer + 16, 16);        /* Its queue set. */
    return AQ_RC_OK;
}

static uint16_t
query_vsi_ets(struct command *c)
{
    if (!clear_buffer(c, 32)) {
        return AQ_RC_EINVAL;
    }
    c->buffer[0] = 1;                   /* Traffic class 0 is valid. */
    c->buffer[4] = 1;                   /* Its share. */
    return AQ_RC_OK;
}

static uint16_t
get_phy_abilities(struct command *c)
{
    if (!clear_buffer(c, 32)) {
        return AQ_RC_EINVAL;
    }
    put_u32(c->buffer, 1u << LINK_PHY_40GBASE_CR4);
    c->buffer[4] = LINK_SPEED_40G;
    c->buffer[5] = 0x18;                /* Link and negotiation enabled. */
    return AQ_RC_OK;
}

/* Fills in the link's state, of a command or an event. */
static void
fill_link_status(const struct port *port, struct aq_desc *desc, bool events)
{
    uint8_t *p = desc->param.bytes;

    memset(p, 0, 16);
    put_u16(p, events ? LINK_LSE_IS_ENABLED : 0);
    p[2] = LINK_PHY_40GBASE_CR4;
    p[3] = port->link_up ? LINK_SPEED_40G : 0;
    p[4] = LINK_MEDIA_AVAILABLE;
    if (port->link_up) {
        p[4] |= LINK_UP | LINK_UP_PORT | LINK_SIGNAL_DETECT;
        p[5] = LINK_AN_COMPLETED;
    }
    put_u16(p + 8, LINK_MAX_FRAME);
    p[10] = LINK_CRC_ENABLED;
}

static uint16_t
get_link_status(struct command *c)
{
    struct xl710 *chip = c->port->chip;
    unsigned int lse = c->desc->param.half[0] & LINK_LSE_MASK;

    if (lse == LINK_LSE_ENABLE) {
        chip->link_events = true;
    } else if (lse == LINK_LSE_DISABLE) {
        chip->link_events = false;
    }
    fill_link_status(c->port, c->desc, chip->link_events);
    return AQ_RC_OK;
}

static uint16_t
execute(struct command *c)
{
    struct xl710 *chip = c->port->chip;

    switch (c->desc->opcode) {
    case AQ_OP_GET_VERSION:
        return get_version(c);
    case AQ_OP_QUEUE_SHUTDOWN:
        chip->aq_shut_down = true;
        return AQ_RC_OK;
    case AQ_OP_REQUEST_RESOURCE:
        c->desc->param.word[1] = 3000;  /* Milliseconds it is granted. */
        return AQ_RC_OK;
    case AQ_OP_LIST_FUNC_CAPS:
    case AQ_OP_LIST_DEV_CAPS:
        return list_capabilities(c);
    case AQ_OP_MAC_READ:
        return mac_read(c);
    case AQ_OP_MAC_WRITE:
        return mac_write(c);
    case AQ_OP_GET_SWITCH_CONFIG:
        return get_switch_config(c);
    case AQ_OP_GET_SWITCH_RESOURCES:
        c->desc->param.bytes[0] = 0;    /* Entries. */
        return AQ_RC_OK;
    case AQ_OP_RX_CTL_READ:
    case AQ_OP_DEBUG_READ_REG:
        return register_read(c);
    case AQ_OP_RX_CTL_WRITE:
    case AQ_OP_DEBUG_WRITE_REG:
        return register_write(c);
    case AQ_OP_ADD_VSI:
        return add_vsi(c);
    case AQ_OP_UPDATE_VSI:
    case AQ_OP_GET_VSI:
        return get_or_update_vsi(c);
    case AQ_OP_ADD_VEB:
        return add_veb(c);
    case AQ_OP_GET_VEB:
        return get_veb(c);
    case AQ_OP_ADD_MACVLAN:
        return macvlan(c, 10);
    case AQ_OP_REMOVE_MACVLAN:
        return macvlan(c, 12);
    case AQ_OP_GET_PROFILE_LIST:
        return clear_buffer(c, c->size) ? AQ_RC_OK : AQ_RC_EINVAL;
    case AQ_OP_SET_VSI_TC_BW:
        return set_vsi_tc_bw(c);
    case AQ_OP_QUERY_VSI_BW:
        return query_vsi_bw(c);
    case AQ_OP_QUERY_VSI_ETS:
        return query_vsi_ets(c);
    case AQ_OP_GET_PHY_ABILITIES:
        return get_phy_abilities(c);
    case AQ_OP_GET_LINK_STATUS:
        return get_link_status(c);

    case AQ_OP_DRIVER_VERSION:
    case AQ_OP_RELEASE_RESOURCE:
    case AQ_OP_CLEAR_PXE:
    case AQ_OP_SET_PORT_PARAMETERS:
    case AQ_OP_SET_SWITCH_CONFIG:
    case AQ_OP_DELETE_ELEMENT:
    case AQ_OP_SET_PROMISCUOUS:
    case AQ_OP_ADD_CONTROL_FILTER:
    case AQ_OP_REMOVE_CONTROL_FILTER:
    case AQ_OP_SET_VSI_BW_LIMIT:
    case AQ_OP_SET_PHY_CONFIG:
    case AQ_OP_SET_MAC_CONFIG:
    case AQ_OP_RESTART_AN:
    case AQ_OP_SET_PHY_INT_MASK:
    case AQ_OP_SET_LOOPBACK:
    case AQ_OP_LLDP_UPDATE_MIB:
    case AQ_OP_LLDP_STOP:
    case AQ_OP_LLDP_START:
    case AQ_OP_LLDP_SET_LOCAL_MIB:
    case AQ_OP_ADD_UDP_TUNNEL:
    case AQ_OP_DEL_UDP_TUNNEL:
        return AQ_RC_OK;

    default:
        if (xl710_aq_unknown++ < 10) {
            log_info("port %u: unknown admin queue command %04x",
                     c->port->index, c->desc->opcode);
        }
        return AQ_RC_ESRCH;
    }
}

/* Executes the command in 'desc' and writes the answer there. */
static void
run_command(struct port *port, struct aq_desc *desc)
{
    /* A copy, so that the driver cannot change a command that was checked. */
    struct aq_desc copy = *desc;
    struct command c = { .port = port, .desc = &copy };
    uint32_t address[2] = { copy.param.word[2], copy.param.word[3] };
    uint16_t retval = AQ_RC_OK;

    if (copy.flags & AQ_FLAG_BUF) {
        uint64_t pa = (uint64_t) address[0] << 32 | address[1];

        c.size = copy.datalen;
        c.buffer = c.size ? dma_ptr(pa, c.size) : NULL;
        if (c.size && !c.buffer) {
            retval = AQ_RC_EFAULT;
        }
    }
    if (!retval) {
        retval = execute(&c);
    }
    if (copy.flags & AQ_FLAG_BUF) {
        copy.param.word[2] = address[0];
        copy.param.word[3] = address[1];
    }
    copy.retval = retval;
    copy.flags |= AQ_FLAG_DD | AQ_FLAG_CMP | (retval ? AQ_FLAG_ERR : 0);
    *desc = copy;
}

/* Returns the 'n' descriptors of a queue whose address registers are 'bah'
 * and 'bal', or NULL. */
static struct aq_desc *
aq_ring(const struct port *port, uint32_t bah, uint32_t bal, uint32_t n)
{
    uint64_t pa = (uint64_t) reg_read(port, bah) << 32 | reg_read(port, bal);

    return dma_ptr(pa, n * sizeof(struct aq_desc));
}

bool
xl710_aq_poll(struct port *port)
{
    struct xl710 *chip = port->chip;
    uint32_t len = reg_read(port, PF_ATQLEN);
    uint32_t n = len & PF_AQLEN_LEN_MASK;
    uint32_t head, tail;
    struct aq_desc *ring;

    if (!(len & PF_AQLEN_ENABLE) || !n) {
        chip->aq_shut_down = false;
        return false;
    }
    head = reg_read(port, PF_ATQH);
    tail = reg_read(port, PF_ATQT);

    /* While it shuts the queue down, a driver clears head and tail in turn:
     * no commands are meant by that. */
    if (chip->aq_shut_down || head == tail || head >= n || tail >= n) {
        return false;
    }
    ring = aq_ring(port, PF_ATQBAH, PF_ATQBAL, n);
    if (!ring) {
        return false;
    }
    while (head != tail) {
        run_command(port, &ring[head]);
        head = head + 1 < n ? head + 1 : 0;
    }
    reg_write(port, PF_ATQH, head);
    return true;
}

void
xl710_aq_link_event(struct port *port)
{
    const struct xl710 *chip = port->chip;
    uint32_t len = reg_read(port, PF_ARQLEN);
    uint32_t n = len & PF_AQLEN_LEN_MASK;
    uint32_t head = reg_read(port, PF_ARQH);
    struct aq_desc *ring;

    if (!chip->link_events || !(len & PF_AQLEN_ENABLE) || head >= n
        || head == reg_read(port, PF_ARQT)) {
        log_debug("port %u: the driver does not want link events",
                  port->index);
        return;
    }
    ring = aq_ring(port, PF_ARQBAH, PF_ARQBAL, n);
    if (!ring) {
        return;
    }
    ring[head] = (struct aq_desc) {
        .flags = AQ_FLAG_DD | AQ_FLAG_CMP,
        .opcode = AQ_OP_GET_LINK_STATUS,
    };
    fill_link_status(port, &ring[head], true);
    reg_write(port, PF_ARQH, head + 1 < n ? head + 1 : 0);
    reg_write(port, PFINT_ICR0, PFINT_ICR0_INTEVENT | PFINT_ICR0_ADMINQ);
    nic_interrupt(port);
}
