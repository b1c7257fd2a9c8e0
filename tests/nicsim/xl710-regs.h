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

#ifndef NICSIM_XL710_REGS_H
#define NICSIM_XL710_REGS_H 1

/* Registers, descriptors, queue contexts and admin queue commands of the
 * Intel XL710, as far as the model has them.  Source of names and numbers:
 * Intel Ethernet Controller XL710 datasheet, and where it is silent the
 * definitions drivers use (i40e_register.h, i40e_type.h and
 * i40e_adminq_cmd.h). */

#define XL710_BAR_SIZE (8u << 20)
#define XL710_N_QUEUES 128

/* Admin queue. */
#define PF_ATQBAL 0x080000      /* Transmit (driver to firmware) queue. */
#define PF_ATQBAH 0x080100
#define PF_ATQLEN 0x080200
#define PF_ATQH 0x080300
#define PF_ATQT 0x080400
#define PF_ARQBAL 0x080080      /* Receive (firmware to driver) queue. */
#define PF_ARQBAH 0x080180
#define PF_ARQLEN 0x080280
#define PF_ARQH 0x080380
#define PF_ARQT 0x080480
#define PF_AQLEN_LEN_MASK 0x3ffu
#define PF_AQLEN_ENABLE (1u << 31)

/* Reset, firmware and NVM. */
#define GL_FWSTS 0x083048
#define PFGEN_CTRL 0x092400
#define PFGEN_CTRL_PFSWR 1u
#define PF_FUNC_RID 0x09c000
#define GLNVM_ULD 0x0b6008
#define GLNVM_ULD_CONF_CORE_DONE (1u << 3)
#define GLNVM_ULD_CONF_GLOBAL_DONE (1u << 4)
#define GLNVM_GENS 0x0b6100
#define GLNVM_GENS_SR_SIZE_64K (6u << 5)
#define GLNVM_FLA 0x0b6108
#define GLNVM_FLA_LOCKED (1u << 6)
#define GLNVM_SRCTL 0x0b6110
#define GLNVM_SRCTL_ADDR_SHIFT 14
#define GLNVM_SRCTL_ADDR_MASK 0x7fffu
#define GLNVM_SRCTL_START (1u << 30)
#define GLNVM_SRCTL_DONE (1u << 31)
#define GLNVM_SRDATA 0x0b6114
#define GLNVM_SRDATA_RDDATA_SHIFT 16
#define GLGEN_RSTCTL 0x0b8180
#define GLGEN_RSTCTL_GRSTDEL_MAX 0x1fu
#define GLGEN_RSTAT 0x0b8188
#define GLPCI_CNF2 0x0be494
#define GLPCI_CNF2_MSI_X_PF_N_SHIFT 2
#define GLPCI_CNF2_MSI_X_VF_N_SHIFT 13
#define PFLAN_QALLOC 0x1c0400
#define PFLAN_QALLOC_LASTQ_SHIFT 16
#define PFLAN_QALLOC_VALID (1u << 31)
#define PFGEN_PORTNUM 0x1c0480

/* Words of the shadow RAM, the NVM's copy. */
#define NVM_WORDS 0x8000
#define NVM_WORD_BOOT_CONFIG 0x17   /* Pointer to a section. */
#define NVM_WORD_DEV_STARTER 0x18   /* Version of the image. */
#define NVM_WORD_EETRACK_LO 0x2d
#define NVM_WORD_EETRACK_HI 0x2e
#define NVM_WORD_EMP_MODULE 0x48    /* Pointer to a section. */
#define NVM_WORD_LLDP_STATUS 0x22c  /* In the section above, at 0x200. */

/* Host memory cache: where queue contexts live. */
#define PFHMC_SDCMD 0x0c0000
#define PFHMC_SDCMD_INDEX_MASK 0xfffu
#define PFHMC_SDCMD_WRITE (1u << 31)
#define PFHMC_SDDATALOW 0x0c0100
#define PFHMC_SDDATALOW_VALID 1u
#define PFHMC_SDDATALOW_DIRECT (1u << 1)
#define PFHMC_SDDATALOW_ADDR_MASK 0xfffff000u
#define PFHMC_SDDATAHIGH 0x0c0200
#define GLHMC_LANTXOBJSZ 0x0c2004
#define GLHMC_LANQMAX 0x0c2008
#define GLHMC_LANRXOBJSZ 0x0c200c
#define GLHMC_FCOEDDPOBJSZ 0x0c2010
#define GLHMC_FCOEMAX 0x0c2014
#define GLHMC_FCOEFOBJSZ 0x0c2018
#define GLHMC_FCOEFMAX 0x0c20d0
#define GLHMC_LANTXBASE0 0x0c6200
#define GLHMC_LANRXBASE0 0x0c6400
#define GLHMC_LANBASE_MASK 0xffffffu
#define GLHMC_LANBASE_UNIT 512
#define HMC_N_SDS 64
#define HMC_SD_SIZE (UINT64_C(2) << 20)
#define HMC_TX_CONTEXT_SIZE 128
#define HMC_RX_CONTEXT_SIZE 32

/* Bit fields of queue contexts: first bit, width. */
#define HMC_BASE 32, 57         /* Ring, in units of HMC_BASE_UNIT. */
#define HMC_BASE_UNIT 128
#define HMC_TX_HEAD_WB (128 + 32), 1
#define HMC_TX_QLEN (128 + 33), 13
#define HMC_RX_QLEN 89, 13
#define HMC_RX_DBUFF 102, 7     /* Buffer, in units of HMC_RX_DBUFF_UNIT. */
#define HMC_RX_DBUFF_UNIT 128
#define HMC_RX_DTYPE 114, 2     /* Header split, 0: none. */
#define HMC_RX_DSIZE 116, 1     /* 1: descriptors of 32 bytes. */
#define HMC_RX_CRCSTRIP 117, 1
#define HMC_RX_RXMAX 174, 14    /* Longest frame. */

/* Queues. */
#define QTX_HEAD(Q) (0x0e4000 + (Q) * 4)
#define QTX_ENA(Q) (0x100000 + (Q) * 4)
#define QTX_TAIL(Q) (0x108000 + (Q) * 4)
#define QRX_ENA(Q) (0x120000 + (Q) * 4)
#define QRX_TAIL(Q) (0x128000 + (Q) * 4)
#define QENA_REQ 1u
#define QENA_STAT (1u << 2)

/* Interrupt 0. */
#define PFINT_DYN_CTL0 0x038480
#define PFINT_ICR0 0x038780
#define PFINT_ICR0_INTEVENT 1u
#define PFINT_ICR0_ADMINQ (1u << 30)

/* Link. */
#define PRTMAC_LINKSTA 0x1e2420
#define PRTMAC_LINKSTA_UP 0x40000080u
#define PRTMAC_LINKSTA_SPEED_40G 0x18000000u
#define PRTMAC_MACC 0x1e24e0

/* Receive side scaling. */
#define PFQF_CTL_0 0x1c0ac0
#define PFQF_CTL_0_HASHLUTSIZE_512 (1u << 16)
#define PFQF_HLUT(I) (0x240000 + (I) * 128)
#define PFQF_HLUT_N 128
#define PFQF_HLUT_ENTRY_MASK 0x3fu
#define PFQF_HKEY(I) (0x244800 + (I) * 128)
#define PFQF_HKEY_N 13
#define PFQF_HENA(I) (0x245900 + (I) * 128)
#define GLQF_HASH_INSET(HALF, PCTYPE) \
    (0x267600 + (HALF) * 4 + (PCTYPE) * 8)
#define GLQF_CTL 0x269ba4
#define GLQF_CTL_HTOEP 2u

/* Bits of a hash input set: one per 2-byte word of the frame, from which the
 * hash takes them from the highest bit down. */
#define INSET_SRC_IP4 UINT64_C(0x0001800000000000)
#define INSET_DST_IP4 UINT64_C(0x0000001800000000)
#define INSET_SRC_IP6 UINT64_C(0x0007f80000000000)
#define INSET_DST_IP6 UINT64_C(0x000007f800000000)
#define INSET_SRC_PORT UINT64_C(0x0000000400000000)
#define INSET_DST_PORT UINT64_C(0x0000000200000000)

/* Packet classifier types: bits of PFQF_HENA. */
#define PCTYPE_IPV4_UDP 31
#define PCTYPE_IPV4_TCP 33
#define PCTYPE_IPV4_SCTP 34
#define PCTYPE_IPV4_OTHER 35
#define PCTYPE_IPV4_FRAGMENT 36
#define PCTYPE_IPV6_UDP 41
#define PCTYPE_IPV6_TCP 43
#define PCTYPE_IPV6_SCTP 44
#define PCTYPE_IPV6_OTHER 45
#define PCTYPE_IPV6_FRAGMENT 46
#define PCTYPE_L2_PAYLOAD 63

/* Packet types in Rx descriptors. */
#define PTYPE_L2 1
#define PTYPE_ARP 11
#define PTYPE_IPV4_FRAGMENT 22
#define PTYPE_IPV4 23
#define PTYPE_IPV4_UDP 24
#define PTYPE_IPV4_TCP 26
#define PTYPE_IPV4_SCTP 27
#define PTYPE_IPV4_ICMP 28
#define PTYPE_IPV6_FRAGMENT 88
#define PTYPE_IPV6 89
#define PTYPE_IPV6_UDP 90
#define PTYPE_IPV6_TCP 92
#define PTYPE_IPV6_SCTP 93
#define PTYPE_IPV6_ICMP 94

/* Statistics of a switch element and of a port: 48-bit counters, low half
 * first, of which drivers take differences. */
#define GLV_RDPC(I) (0x310000 + (I) * 8)    /* 32 bits. */
#define GLV_GOTC(I) (0x328000 + (I) * 8)
#define GLV_UPTC(I) (0x33c000 + (I) * 8)
#define GLV_MPTC(I) (0x33cc00 + (I) * 8)
#define GLV_BPTC(I) (0x33d800 + (I) * 8)
#define GLV_GORC(I) (0x358000 + (I) * 8)
#define GLV_UPRC(I) (0x36c000 + (I) * 8)
#define GLV_MPRC(I) (0x36cc00 + (I) * 8)
#define GLV_BPRC(I) (0x36d800 + (I) * 8)
#define GLPRT_GORC 0x300000
#define GLPRT_PRC(CLASS) (0x300480 + (CLASS) * 0x20)
#define GLPRT_UPRC 0x3005a0
#define GLPRT_MPRC 0x3005c0
#define GLPRT_BPRC 0x3005e0
#define GLPRT_GOTC 0x300680
#define GLPRT_PTC(CLASS) (0x3006a0 + (CLASS) * 0x20)
#define GLPRT_UPTC 0x3009c0
#define GLPRT_MPTC 0x3009e0
#define GLPRT_BPTC 0x300a00
#define GLPRT_TDOLD 0x300a20                /* 32 bits. */

/* Rx descriptor, second quadword of the write-back format. */
#define RXD_DD (UINT64_C(1) << 0)
#define RXD_EOF (UINT64_C(1) << 1)
#define RXD_L3L4P (UINT64_C(1) << 3)
#define RXD_UMBCAST_SHIFT 9
#define RXD_FLTSTAT_RSS (UINT64_C(3) << 12)
#define RXD_PTYPE_SHIFT 30
#define RXD_LENGTH_SHIFT 38

/* Tx descriptor, second quadword. */
#define TXD_SIZE 16
#define TXD_DTYPE_MASK UINT64_C(0xf)
#define TXD_DTYPE_DATA 0x0
#define TXD_DTYPE_CONTEXT 0x1
#define TXD_DTYPE_FILTER_PROG 0x8
#define TXD_DTYPE_DONE 0xf
#define TXD_CMD_EOP (UINT64_C(1) << 4)
#define TXD_CMD_RS (UINT64_C(1) << 5)
#define TXD_CMD_IL2TAG1 (UINT64_C(1) << 7)
#define TXD_CMD_IIPT_MASK (UINT64_C(3) << 9)
#define TXD_CMD_IIPT_IPV4_CSUM (UINT64_C(3) << 9)
#define TXD_CMD_L4T_MASK (UINT64_C(3) << 12)
#define TXD_BUF_SIZE_SHIFT 34
#define TXD_BUF_SIZE_MASK UINT64_C(0x3fff)
#define TXD_L2TAG1_SHIFT 48
#define TXD_CONTEXT_TSO (UINT64_C(1) << 4)

/* Admin queue descriptor. */
struct aq_desc {
    uint16_t flags;             /* AQ_FLAG_*. */
    uint16_t opcode;            /* AQ_OP_*. */
    uint16_t datalen;           /* Bytes of the buffer. */
    uint16_t retval;            /* AQ_RC_*. */
    uint32_t cookie_hi;         /* The driver's own. */
    uint32_t cookie_lo;
    union {
        uint8_t bytes[16];      /* Parameters of the command. */
        uint16_t half[8];
        uint32_t word[4];       /* 2 and 3: buffer address, high first. */
    } param;
};
_Static_assert(sizeof(struct aq_desc) == 32, "size of an AQ descriptor");

#define AQ_FLAG_DD (1u << 0)
#define AQ_FLAG_CMP (1u << 1)
#define AQ_FLAG_ERR (1u << 2)
#define AQ_FLAG_LB (1u << 9)    /* Large buffer. */
#define AQ_FLAG_RD (1u << 10)
#define AQ_FLAG_BUF (1u << 12)

#define AQ_RC_OK 0
#define AQ_RC_ENOENT 2
#define AQ_RC_ESRCH 3           /* Bad opcode. */
#define AQ_RC_ENXIO 6
#define AQ_RC_EFAULT 11
#define AQ_RC_EINVAL 14
#define AQ_RC_ENOSPC 16

#define AQ_OP_GET_VERSION 0x0001
#define AQ_OP_DRIVER_VERSION 0x0002
#define AQ_OP_QUEUE_SHUTDOWN 0x0003
#define AQ_OP_REQUEST_RESOURCE 0x0008
#define AQ_OP_RELEASE_RESOURCE 0x0009
#define AQ_OP_LIST_FUNC_CAPS 0x000a
#define AQ_OP_LIST_DEV_CAPS 0x000b
#define AQ_OP_MAC_READ 0x0107
#define AQ_OP_MAC_WRITE 0x0108
#define AQ_OP_CLEAR_PXE 0x0110
#define AQ_OP_GET_SWITCH_CONFIG 0x0200
#define AQ_OP_SET_PORT_PARAMETERS 0x0203
#define AQ_OP_GET_SWITCH_RESOURCES 0x0204
#define AQ_OP_SET_SWITCH_CONFIG 0x0205
#define AQ_OP_RX_CTL_READ 0x0206
#define AQ_OP_RX_CTL_WRITE 0x0207
#define AQ_OP_ADD_VSI 0x0210
#define AQ_OP_UPDATE_VSI 0x0211
#define AQ_OP_GET_VSI 0x0212
#define AQ_OP_ADD_VEB 0x0230
#define AQ_OP_GET_VEB 0x0232
#define AQ_OP_DELETE_ELEMENT 0x0243
#define AQ_OP_ADD_MACVLAN 0x0250
#define AQ_OP_REMOVE_MACVLAN 0x0251
#define AQ_OP_SET_PROMISCUOUS 0x0254
#define AQ_OP_ADD_CONTROL_FILTER 0x025a
#define AQ_OP_REMOVE_CONTROL_FILTER 0x025b
#define AQ_OP_GET_PROFILE_LIST 0x0271
#define AQ_OP_SET_VSI_BW_LIMIT 0x0400
#define AQ_OP_SET_VSI_TC_BW 0x0407
#define AQ_OP_QUERY_VSI_BW 0x0408
#define AQ_OP_QUERY_VSI_ETS 0x040a
#define AQ_OP_GET_PHY_ABILITIES 0x0600
#define AQ_OP_SET_PHY_CONFIG 0x0601
#define AQ_OP_SET_MAC_CONFIG 0x0603
#define AQ_OP_RESTART_AN 0x0605
#define AQ_OP_GET_LINK_STATUS 0x0607
#define AQ_OP_SET_PHY_INT_MASK 0x0613
#define AQ_OP_SET_LOOPBACK 0x0618
#define AQ_OP_NVM_READ 0x0701
#define AQ_OP_LLDP_UPDATE_MIB 0x0a01
#define AQ_OP_LLDP_STOP 0x0a05
#define AQ_OP_LLDP_START 0x0a06
#define AQ_OP_LLDP_SET_LOCAL_MIB 0x0a08
#define AQ_OP_ADD_UDP_TUNNEL 0x0b00
#define AQ_OP_DEL_UDP_TUNNEL 0x0b01
#define AQ_OP_DEBUG_READ_REG 0xff03
#define AQ_OP_DEBUG_WRITE_REG 0xff04

/* Capabilities. */
#define AQ_CAP_SWITCH_MODE 0x0001
#define AQ_CAP_MNG_MODE 0x0002
#define AQ_CAP_FUNCTIONS_VALID 0x0005
#define AQ_CAP_VMDQ 0x0014
#define AQ_CAP_VSI 0x0017
#define AQ_CAP_DCB 0x0018
#define AQ_CAP_RSS 0x0040
#define AQ_CAP_RXQ 0x0041
#define AQ_CAP_TXQ 0x0042
#define AQ_CAP_MSIX 0x0043
#define AQ_CAP_VF_MSIX 0x0044
#define AQ_CAP_FLOW_DIRECTOR 0x0045
#define AQ_CAP_MDIO 0x0063

/* Virtual station interfaces: switch elements that own queues. */
#define VSI_N 384
#define VSI_SEID_BASE 390       /* Switch element id of VSI 0. */
#define VSI_DATA_SIZE 128
#define VSI_DRIVER_SIZE 96      /* The rest is the firmware's. */
#define VSI_QUEUE_MAP_VALID 0x0040
#define VSI_OFS_VALID_SECTIONS 0
#define VSI_OFS_MAPPING_FLAGS 28
#define VSI_OFS_QUEUE_MAPPING 30
#define VSI_OFS_TC_MAPPING 62
#define VSI_OFS_QS_HANDLE 96
#define VSI_OFS_STAT_COUNTER 112
#define VSI_OFS_SCHED_ID 114
#define VSI_QUEUE_MAP_NONCONTIG 1
#define VSI_QUEUE_MASK 0x7ff
#define VSI_TC_OFFSET_MASK 0x1ff
#define VSI_QS_HANDLE_INVALID 0xffff

/* Link status command. */
#define LINK_LSE_MASK 3
#define LINK_LSE_DISABLE 2
#define LINK_LSE_ENABLE 3
#define LINK_LSE_IS_ENABLED 1
#define LINK_PHY_40GBASE_CR4 0x18
#define LINK_SPEED_40G 0x10
#define LINK_UP 0x01
#define LINK_UP_PORT 0x20
#define LINK_MEDIA_AVAILABLE 0x40
#define LINK_SIGNAL_DETECT 0x80
#define LINK_AN_COMPLETED 0x01
#define LINK_CRC_ENABLED 0x04
#define LINK_MAX_FRAME 9728

#endif /* xl710-regs.h */
