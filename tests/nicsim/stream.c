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

#include "stream.h"

struct stream *
stream_create(void)
{
    return xzalloc(1, sizeof(struct stream));
}

void
stream_lose(struct stream *s, uint64_t seq)
{
    uint64_t bit = UINT64_C(1) << seq % 64;

    s->under_way[seq % STREAM_WINDOW / 64] &= ~bit;
    s->lost[seq % STREAM_WINDOW / 64] |= bit;
    s->n.gen_lost++;
}

void
stream_return_odd(struct stream *s, uint64_t seq)
{
    uint64_t *lost = &s->lost[seq % STREAM_WINDOW / 64];
    uint64_t bit = UINT64_C(1) << seq % 64;

    if (seq < s->next_seq && s->next_seq - seq <= STREAM_WINDOW
        && *lost & bit) {
        *lost &= ~bit;
        s->n.gen_lost--;
        s->n.gen_returned++;
        s->n.late++;
    } else {
        s->n.duplicate++;
    }
}

void
stream_send_blind(struct stream *s)
{
    s->next_seq++;
    s->n.gen_sent++;
}

void
stream_return_blind(struct stream *s)
{
    if (stream_outstanding(s)) {
        s->n.gen_returned++;
    } else if (s->n.gen_lost) {
        s->n.gen_lost--;
        s->n.gen_returned++;
        s->n.late++;
    } else {
        s->n.duplicate++;
    }
}

/* Gives up the frames under way before 'end'. */
static void
lose_before(struct stream *s, uint64_t end)
{
    if (s->next_seq > STREAM_WINDOW
        && s->oldest < s->next_seq - STREAM_WINDOW) {
        s->oldest = s->next_seq - STREAM_WINDOW;
    }
    while (s->oldest < end) {
        uint64_t word = s->under_way[s->oldest % STREAM_WINDOW / 64];

        if (s->oldest % 64 == 0 && !word && end - s->oldest >= 64) {
            s->oldest += 64;
            continue;
        }
        if (word >> s->oldest % 64 & 1) {
            stream_lose(s, s->oldest);
        }
        s->oldest++;
    }
}

/* Like lose_before(), if the frames under way are only counted: frames come
 * back in order, as far as anybody can tell. */
static void
lose_before_blind(struct stream *s, uint64_t end)
{
    uint64_t accounted = s->next_seq - stream_outstanding(s);

    if (accounted < end) {
        s->n.gen_lost += end - accounted;
    }
    s->oldest = s->next_seq;
}

void
stream_tick(struct stream *s, bool blind)
{
    uint64_t end = s->marks[s->next_mark];

    if (blind) {
        lose_before_blind(s, end);
    } else {
        lose_before(s, end);
    }
    s->marks[s->next_mark] = s->next_seq;
    s->next_mark = (s->next_mark + 1) % STREAM_MARKS;
}

void
stream_flush(struct stream *s)
{
    lose_before(s, s->next_seq);

    /* What is left was sent without a number. */
    s->n.gen_lost += stream_outstanding(s);
}
