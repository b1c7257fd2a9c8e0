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

#include "rss.h"

/* Returns the 32 bits of 'key' that start at bit 'bit', counted from the most
 * significant bit of the first byte. */
static uint32_t
key_window(const uint8_t *key, size_t bit)
{
    uint64_t window = 0;

    for (size_t i = 0; i < 5; i++) {
        size_t byte = bit / 8 + i;

        window = window << 8 | (byte < RSS_KEY_SIZE ? key[byte] : 0);
    }
    return window >> (8 - bit % 8);
}

void
rss_set_key(struct rss *rss, const uint8_t key[RSS_KEY_SIZE])
{
    for (size_t i = 0; i < RSS_INPUT_MAX; i++) {
        rss->table[i][0] = 0;
        for (unsigned int value = 1; value < 256; value++) {
            unsigned int lowest = __builtin_ctz(value);

            rss->table[i][value] = (rss->table[i][value & (value - 1)]
                                    ^ key_window(key, i * 8 + 7 - lowest));
        }
    }
}
