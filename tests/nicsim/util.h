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

#ifndef NICSIM_UTIL_H
#define NICSIM_UTIL_H 1

/* Small things every part of nicsim needs: messages, bit fields, time. */

#ifndef __x86_64__
#error "nicsim needs x86-64: it relies on its store order, TSC and CRC32C."
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LIKELY(X) __builtin_expect(!!(X), 1)
#define UNLIKELY(X) __builtin_expect(!!(X), 0)
#define ARRAY_SIZE(A) (sizeof (A) / sizeof (A)[0])
#define PRINTF_FORMAT(FMT, ARG) __attribute__((format(printf, FMT, ARG)))

/* Values of a type the compiler may find at any address. */
#define UNALIGNED(TYPE) \
    __attribute__((may_alias, aligned(1))) TYPE

typedef UNALIGNED(uint16_t) u16_unaligned;
typedef UNALIGNED(uint32_t) u32_unaligned;
typedef UNALIGNED(uint64_t) u64_unaligned;

/* How much to say on stderr: 0 events worth knowing, 1 each step. */
extern int log_level;

/* Says one line on stderr, prefixed with "nicsim: ". */
void log_info(const char *format, ...) PRINTF_FORMAT(1, 2);

/* Like log_info(), but only with -v. */
void log_debug(const char *format, ...) PRINTF_FORMAT(1, 2);

/* Says one line on stderr and ends the process with status 1. */
void die(const char *format, ...) PRINTF_FORMAT(1, 2)
    __attribute__((noreturn));

/* Returns 'count' zeroed elements of 'size' bytes, aligned to a cache line.
 * Ends the process if there is no memory.  The caller frees it. */
void *xzalloc(size_t count, size_t size);

/* Cycles of the time stamp counter per second, measured by tsc_calibrate(). */
extern uint64_t tsc_hz;

/* Measures 'tsc_hz'; takes 20 ms. */
void tsc_calibrate(void);

static inline uint64_t
tsc_now(void)
{
    return __builtin_ia32_rdtsc();
}

/* Returns 'usec' microseconds in cycles of the time stamp counter. */
static inline uint64_t
tsc_from_usec(uint64_t usec)
{
    return tsc_hz * usec / 1000000;
}

static inline uint16_t
get_u16(const void *p)
{
    return *(const u16_unaligned *) p;
}

static inline uint32_t
get_u32(const void *p)
{
    return *(const u32_unaligned *) p;
}

static inline uint64_t
get_u64(const void *p)
{
    return *(const u64_unaligned *) p;
}

static inline void
put_u16(void *p, uint16_t value)
{
    *(u16_unaligned *) p = value;
}

static inline void
put_u32(void *p, uint32_t value)
{
    *(u32_unaligned *) p = value;
}

static inline void
put_u64(void *p, uint64_t value)
{
    *(u64_unaligned *) p = value;
}

/* Big-endian (network order) accessors. */
static inline uint16_t
get_be16(const void *p)
{
    return __builtin_bswap16(get_u16(p));
}

static inline void
put_be16(void *p, uint16_t value)
{
    put_u16(p, __builtin_bswap16(value));
}

static inline void
put_be32(void *p, uint32_t value)
{
    put_u32(p, __builtin_bswap32(value));
}

/* Returns the 'width' bits (at most 64) that start at bit 'lsb' of the
 * little-endian bit string 'bytes', as queue contexts are laid out. */
uint64_t bit_field(const uint8_t *bytes, unsigned int lsb,
                   unsigned int width);

#endif /* util.h */
