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

#ifndef NICSIM_DMA_H
#define NICSIM_DMA_H 1

/* Access to the memory of the DPDK process by physical address.
 *
 * A NIC under UIO is programmed with physical addresses.  One window of
 * address space is reserved for all of physical memory; each hugepage of the
 * DPDK process is mapped at window + physical address, so that a translation
 * is one addition.  A page is looked for in the process (through
 * /proc/PID/maps, pagemap and map_files) when an address misses, and given
 * back when the process unmaps it or exits.  Hugepages of any size work.
 *
 * All functions are for the one thread that runs the model. */

#include "util.h"

#include <sys/types.h>

/* Physical addresses up to this many bytes can be reached. */
#define DMA_WINDOW_SIZE (UINT64_C(1) << 44)

/* Granularity of the table of mapped pages: the smallest hugepage. */
#define DMA_SLOT_SHIFT 21
#define DMA_SLOT_SIZE (UINT64_C(1) << DMA_SLOT_SHIFT)

/* At most this many devices, that is, this many DPDK processes. */
#define DMA_MAX_DEVICES 4

/* Where physical address 0 is in this process. */
extern uint8_t *dma_window;

/* For each slot of the window, whose memory is mapped there: 0 nobody's. */
extern uint8_t *dma_slots;

/* Addresses that could not be translated since the start. */
extern uint64_t dma_faults;

/* Reserves the window.  Ends the process if that is not possible. */
void dma_init(void);

/* Registers a device, whose registers are the open file 'bar_fd': whoever
 * maps that file is the DPDK process that drives the device.  Returns the
 * device's number. */
unsigned int dma_add_device(int bar_fd);

/* Returns the process that drives 'device', or 0 if none is known. */
pid_t dma_device_pid(unsigned int device);

/* Notices processes that exited.  Gives their memory back and returns a bit
 * mask of the devices they drove. */
unsigned int dma_reap(void);

/* Brings the window up to date with the processes' mappings: maps new pages,
 * gives back those no longer theirs.  Takes in the order of a millisecond;
 * meant for the moments when a driver starts queues. */
void dma_refresh(void);

/* Gives all memory back. */
void dma_release(void);

/* Looks for [pa, pa + len) in the DPDK processes.  Returns it, or NULL after
 * counting a fault. */
void *dma_ptr_slow(uint64_t pa, uint32_t len);

/* Returns the 'len' > 0 bytes at physical address 'pa', or NULL (and counts
 * a fault) if no DPDK process has such memory. */
static inline void *
dma_ptr(uint64_t pa, uint32_t len)
{
    if (LIKELY(pa < DMA_WINDOW_SIZE && dma_slots[pa >> DMA_SLOT_SHIFT]
               && dma_slots[(pa + len - 1) >> DMA_SLOT_SHIFT])) {
        return dma_window + pa;
    }
    return dma_ptr_slow(pa, len);
}

#endif /* dma.h */
