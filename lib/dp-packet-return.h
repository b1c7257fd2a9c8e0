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

#ifndef DP_PACKET_RETURN_H
#define DP_PACKET_RETURN_H 1

/* What is left to do of mbuf-return for batches of packets, which may hold
 * mbufs and other packets alike. */

#include "mbuf-return.h"

struct dp_packet_batch;

#ifdef DPDK_NETDEV

void dp_packet_batch_return__(struct dp_packet_batch *);

/* If the calling thread returns mbufs to Rx rings, takes the mbufs out of
 * 'batch', which owns them, and returns them where possible.  Other packets
 * stay in 'batch', in any order. */
static inline void
dp_packet_batch_return(struct dp_packet_batch *batch)
{
    if (OVS_UNLIKELY(mbuf_return_enabled())) {
        dp_packet_batch_return__(batch);
    }
}

#else /* !DPDK_NETDEV */

static inline void
dp_packet_batch_return(struct dp_packet_batch *batch OVS_UNUSED)
{
    /* Nothing. */
}

#endif /* !DPDK_NETDEV */

#endif /* dp-packet-return.h */
