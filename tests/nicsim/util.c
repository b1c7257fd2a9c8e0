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

#include "util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int log_level;
uint64_t tsc_hz;

static void
log_valist(const char *format, va_list args)
{
    char line[512];

    vsnprintf(line, sizeof line, format, args);
    fprintf(stderr, "nicsim: %s\n", line);
}

void
log_info(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_valist(format, args);
    va_end(args);
}

void
log_debug(const char *format, ...)
{
    va_list args;

    if (log_level > 0) {
        va_start(args, format);
        log_valist(format, args);
        va_end(args);
    }
}

void
die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_valist(format, args);
    va_end(args);
    exit(1);
}

void *
xzalloc(size_t count, size_t size)
{
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(count, size, &bytes)
        || posix_memalign(&p, 64, bytes ? bytes : 64)) {
        die("out of memory for %zu elements of %zu bytes", count, size);
    }
    memset(p, 0, bytes);
    return p;
}

void
tsc_calibrate(void)
{
    const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
    struct timespec start, end;
    uint64_t tsc_start, tsc_end;
    double seconds;

    clock_gettime(CLOCK_MONOTONIC, &start);
    tsc_start = tsc_now();
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    tsc_end = tsc_now();

    seconds = (end.tv_sec - start.tv_sec)
              + (end.tv_nsec - start.tv_nsec) / 1e9;
    tsc_hz = (tsc_end - tsc_start) / seconds;
}

uint64_t
bit_field(const uint8_t *bytes, unsigned int lsb, unsigned int width)
{
    uint64_t value = 0;

    for (unsigned int i = 0; i < width; i++) {
        unsigned int bit = lsb + i;

        value |= (uint64_t) (bytes[bit / 8] >> bit % 8 & 1) << i;
    }
    return value;
}
