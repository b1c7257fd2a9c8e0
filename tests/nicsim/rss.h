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

#ifndef NICSIM_RSS_H
#define NICSIM_RSS_H 1

/* The Toeplitz hash of receive side scaling, by lookup in tables. */

#include "util.h"

/* Bytes of a key.  A NIC has 40 (82599) or 52 (XL710). */
#define RSS_KEY_SIZE 52

/* Largest input: two IPv6 addresses and two ports. */
#define RSS_INPUT_MAX 36

struct rss {
    /* XOR of the key's 32-bit windows for each byte value at each place. */
    uint32_t table[RSS_INPUT_MAX][256];
};

/* Prepares 'rss' for 'key'. */
void rss_set_key(struct rss *, const uint8_t key[RSS_KEY_SIZE]);

/* Returns the hash of the 'size' <= RSS_INPUT_MAX bytes at 'input', which are
 * in network order: source address, destination address, source port,
 * destination port. */
static inline uint32_t
rss_hash(const struct rss *rss, const uint8_t *input, size_t size)
{
    uint32_t hash = 0;

    for (size_t i = 0; i < size; i++) {
        hash ^= rss->table[i][input[i]];
    }
    return hash;
}

#endif /* rss.h */
