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

#include <config.h>

#include "dp-packet-return.h"

#include "dp-packet.h"
#include "util.h"

/* Implements dp_packet_batch_return() for a thread that returns mbufs. */
void
dp_packet_batch_return__(struct dp_packet_batch *batch)
{
    struct dp_packet **packets = batch->packets;
    size_t n_mbufs = 0;
    size_t n_others;

    for (size_t i = 0; i < batch->count; i++) {
        struct dp_packet *packet = packets[i];

        if (packet->source == DPBUF_DPDK) {
            packets[i] = packets[n_mbufs];
            packets[n_mbufs++] = packet;
        }
    }

    /* An mbuf is the first member of its dp_packet. */
    BUILD_ASSERT_DECL(offsetof(struct dp_packet, mbuf) == 0);
    mbuf_return_free_bulk((struct rte_mbuf **) packets, n_mbufs);

    n_others = batch->count - n_mbufs;
    memmove(packets, &packets[n_mbufs], n_others * sizeof *packets);
    batch->count = n_others;
}
