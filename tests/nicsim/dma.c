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

#define _GNU_SOURCE
#include "dma.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define N_SLOTS (DMA_WINDOW_SIZE >> DMA_SLOT_SHIFT)

/* The window starts at a multiple of the largest hugepage. */
#define WINDOW_ALIGN (UINT64_C(1) << 30)

/* Value of a slot that holds scratch memory in place of a page that turned
 * out not to be accessible; others are the holder's index + 1. */
#define SLOT_SCRATCH 255

/* A search that did not find an address is not repeated for the same slot
 * within this time: the fault is only counted. */
#define SEARCH_PAUSE_USEC 20000

/* Entries of /proc/PID/pagemap, see the kernel's
 * Documentation/admin-guide/mm/pagemap.rst. */
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_PFN_MASK ((UINT64_C(1) << 55) - 1)

struct device {
    dev_t dev;                  /* File system of the register file. */
    ino_t ino;                  /* Inode of the register file. */
    int holder;                 /* Index into holders[], or -1. */
};

/* A DPDK process. */
struct holder {
    pid_t pid;                  /* 0 if the entry is free. */
    int pidfd;                  /* Readable when the process has exited. */
};

uint8_t *dma_window;
uint8_t *dma_slots;
uint64_t dma_faults;

static struct device devices[DMA_MAX_DEVICES];
static unsigned int n_devices;
static struct holder holders[DMA_MAX_DEVICES];

/* Slots in use are within [first_slot, end_slot). */
static uint64_t first_slot = N_SLOTS;
static uint64_t end_slot;

/* A byte per slot, set while bringing a holder's pages up to date. */
static uint8_t *slot_seen;

/* Slot that was last searched for in vain, and TSC of the next search. */
static uint64_t missing_slot = UINT64_MAX;
static uint64_t next_search;

/* Puts inaccessible address space back into 'n' slots from 'slot'. */
static void
unmap_slots(uint64_t slot, uint64_t n)
{
    void *p = mmap(dma_window + slot * DMA_SLOT_SIZE, n * DMA_SLOT_SIZE,
                   PROT_NONE, (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
                               | MAP_FIXED), -1, 0);

    if (p == MAP_FAILED) {
        die("cannot unmap DMA memory: %s", strerror(errno));
    }
    memset(dma_slots + slot, 0, n);
}

/* A hugepage that was mapped may vanish (its file was truncated), and an
 * address may lie in a mapped slot but beyond its page.  Puts scratch memory
 * there, so that the model goes on, and counts. */
static void
on_memory_fault(int sig, siginfo_t *info, void *context)
{
    uint64_t offset = (uint8_t *) info->si_addr - dma_window;

    (void) context;
    if (offset < DMA_WINDOW_SIZE) {
        uint64_t slot = offset >> DMA_SLOT_SHIFT;
        void *p = mmap(dma_window + slot * DMA_SLOT_SIZE, DMA_SLOT_SIZE,
                       PROT_READ | PROT_WRITE,
                       (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
                        | MAP_FIXED), -1, 0);

        if (p != MAP_FAILED) {
            dma_slots[slot] = SLOT_SCRATCH;
            dma_faults++;
            return;
        }
    }
    signal(sig, SIG_DFL);
}

void
dma_init(void)
{
    struct sigaction action = {
        .sa_sigaction = on_memory_fault,
        .sa_flags = SA_SIGINFO | SA_NODEFER,
    };
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *window;

    window = mmap(NULL, DMA_WINDOW_SIZE + WINDOW_ALIGN, PROT_NONE, flags,
                  -1, 0);
    if (window == MAP_FAILED) {
        die("cannot reserve %"PRIu64" GB of address space for DMA: %s "
            "(is a limit on virtual memory set, \"ulimit -v\"?)",
            (uint64_t) (DMA_WINDOW_SIZE >> 30), strerror(errno));
    }
    dma_window = (uint8_t *) (((uintptr_t) window + WINDOW_ALIGN - 1)
                              & ~(WINDOW_ALIGN - 1));

    /* Large and sparse: mmap() so that untouched parts cost nothing.  An
     * access of up to 4 GB may start in the last slot. */
    dma_slots = mmap(NULL, N_SLOTS + 4096, PROT_READ | PROT_WRITE, flags,
                     -1, 0);
    slot_seen = mmap(NULL, N_SLOTS, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (dma_slots == MAP_FAILED || slot_seen == MAP_FAILED) {
        die("cannot allocate the table of DMA pages: %s", strerror(errno));
    }

    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

unsigned int
dma_add_device(int bar_fd)
{
    struct stat s;

    if (n_devices >= DMA_MAX_DEVICES) {
        die("more than %d devices", DMA_MAX_DEVICES);
    }
    if (fstat(bar_fd, &s)) {
        die("cannot stat a register file: %s", strerror(errno));
    }
    devices[n_devices] = (struct device) {
        .dev = s.st_dev, .ino = s.st_ino, .holder = -1,
    };
    return n_devices++;
}

pid_t
dma_device_pid(unsigned int device)
{
    int holder = devices[device].holder;

    return holder >= 0 ? holders[holder].pid : 0;
}

/* Returns the holder of process 'pid', a new one if need be, or -1 if the
 * process is gone or too many are known. */
static int
holder_get(pid_t pid)
{
    int free_index = -1;

    for (int i = 0; i < DMA_MAX_DEVICES; i++) {
        if (holders[i].pid == pid) {
            return i;
        }
        if (!holders[i].pid) {
            free_index = i;
        }
    }
    if (free_index >= 0) {
        int fd = syscall(SYS_pidfd_open, pid, 0);

        if (fd < 0) {
            return -1;
        }
        holders[free_index] = (struct holder) { .pid = pid, .pidfd = fd };
        log_info("DPDK process %d drives the NIC", (int) pid);
    }
    return free_index;
}

/* Gives back all slots of 'holder', or with 'unseen_only' those that are not
 * marked in slot_seen. */
static void
release_slots(int holder, bool unseen_only)
{
    for (uint64_t slot = first_slot; slot < end_slot; slot++) {
        bool mine = (dma_slots[slot] == holder + 1
                     || dma_slots[slot] == SLOT_SCRATCH);

        if (mine && !(unseen_only && slot_seen[slot])) {
            unmap_slots(slot, 1);
        }
    }
}

/* Maps the hugepage of 'size' bytes at 'offset' in 'fd', whose physical
 * address is 'pa', for 'holder'. */
static void
map_page(int holder, int fd, uint64_t offset, uint64_t pa, uint64_t size)
{
    uint64_t slot = pa >> DMA_SLOT_SHIFT;
    uint64_t n = size >> DMA_SLOT_SHIFT;
    void *p;

    p = mmap(dma_window + pa, size, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_POPULATE | MAP_NORESERVE,
             fd, offset);
    if (p == MAP_FAILED) {
        log_info("cannot map the hugepage at physical address %#"PRIx64
                 ": %s", pa, strerror(errno));
        unmap_slots(slot, n);
        return;
    }
    memset(dma_slots + slot, holder + 1, n);
    if (slot < first_slot) {
        first_slot = slot;
    }
    if (slot + n > end_slot) {
        end_slot = slot + n;
    }
}

/* Returns the physical address of 'va' in the process whose pagemap is
 * 'pagemap', or 0 if no page is present there. */
static uint64_t
physical_address(int pagemap, uint64_t va)
{
    uint64_t entry;

    if (pread(pagemap, &entry, sizeof entry, va / 4096 * sizeof entry)
        != sizeof entry || !(entry & PAGEMAP_PRESENT)) {
        return 0;
    }
    return (entry & PAGEMAP_PFN_MASK) << 12;
}

/* A mapping of a file of hugepages in a DPDK process. */
struct mapping {
    uint64_t start;             /* Virtual addresses in that process. */
    uint64_t end;
    uint64_t offset;            /* Of 'start' in the file. */
    uint64_t page_size;         /* Of the file system, bytes. */
    bool wanted;                /* The device uses this memory. */
};

/* Returns the physical address of the page at 'va' of mapping 'm', or 0 if
 * it cannot be used. */
static uint64_t
page_address(int pagemap, const struct mapping *m, uint64_t va)
{
    uint64_t pa = physical_address(pagemap, va);

    return (pa & (m->page_size - 1) || pa > DMA_WINDOW_SIZE - m->page_size
            ? 0 : pa);
}

/* Opens the file behind mapping 'm' of process 'pid'.  Returns a file
 * descriptor, or -1. */
static int
open_mapping(pid_t pid, const struct mapping *m)
{
    char name[96];

    snprintf(name, sizeof name, "/proc/%d/map_files/%"PRIx64"-%"PRIx64,
             (int) pid, m->start, m->end);
    return open(name, O_RDWR | O_CLOEXEC);
}

/* Reads the mappings of hugepages from 'maps', the open /proc/PID/maps of
 * 'pid'.  Returns an array that the caller frees, and its length in '*n'. */
static struct mapping *
read_mappings(pid_t pid, FILE *maps, size_t *n)
{
    struct mapping *mappings = NULL;
    size_t allocated = 0;
    char line[1024];

    *n = 0;
    while (fgets(line, sizeof line, maps)) {
        struct mapping m = { .wanted = false };
        struct statfs fs;
        char mode[5];
        int fd;

        if (sscanf(line, "%"SCNx64"-%"SCNx64" %4s %"SCNx64,
                   &m.start, &m.end, mode, &m.offset) != 4
            || mode[3] != 's') {
            continue;
        }
        fd = open_mapping(pid, &m);
        if (fd < 0) {
            continue;
        }
        if (!fstatfs(fd, &fs) && fs.f_type == HUGETLBFS_MAGIC
            && fs.f_bsize >= (long) DMA_SLOT_SIZE
            && fs.f_bsize <= (long) WINDOW_ALIGN) {
            if (*n >= allocated) {
                allocated = allocated ? allocated * 2 : 64;
                mappings = realloc(mappings, allocated * sizeof *mappings);
                if (!mappings) {
                    die("out of memory for %zu mappings", allocated);
                }
            }
            m.page_size = fs.f_bsize;
            mappings[(*n)++] = m;
        }
        close(fd);
    }
    return mappings;
}

/* Marks the mappings the device uses: those with a page that is in the
 * window, or with physical address 'missing', and their neighbours in the
 * process's address space.  Memory elsewhere is left alone: it is not
 * DPDK's own but, say, that of a guest, and would be pinned here. */
static void
mark_wanted(int holder, int pagemap, struct mapping *mappings, size_t n,
            uint64_t missing)
{
    for (size_t i = 0; i < n; i++) {
        struct mapping *m = &mappings[i];

        for (uint64_t va = m->start; va < m->end && !m->wanted;
             va += m->page_size) {
            uint64_t pa = page_address(pagemap, m, va);

            m->wanted = pa && (dma_slots[pa >> DMA_SLOT_SHIFT] == holder + 1
                               || (missing >= pa
                                   && missing < pa + m->page_size));
        }
    }
    for (size_t i = 1; i < n; i++) {
        mappings[i].wanted |= (mappings[i - 1].wanted
                               && mappings[i - 1].end == mappings[i].start);
    }
    for (size_t i = n; i-- > 1; ) {
        mappings[i - 1].wanted |= (mappings[i].wanted
                                   && (mappings[i - 1].end
                                       == mappings[i].start));
    }
}

/* Maps what is new in mapping 'm' of 'holder' and marks it in slot_seen. */
static void
scan_mapping(int holder, int pagemap, int own_pagemap,
             const struct mapping *m)
{
    int fd = open_mapping(holders[holder].pid, m);

    for (uint64_t va = m->start; fd >= 0 && va < m->end;
         va += m->page_size) {
        uint64_t pa = page_address(pagemap, m, va);

        if (!pa) {
            continue;
        }

        /* A page may have been freed and another taken into its place in
         * the file: then the window shows the wrong one. */
        if (dma_slots[pa >> DMA_SLOT_SHIFT] != holder + 1
            || physical_address(own_pagemap,
                                (uintptr_t) dma_window + pa) != pa) {
            map_page(holder, fd, m->offset + (va - m->start), pa,
                     m->page_size);
        }
        memset(slot_seen + (pa >> DMA_SLOT_SHIFT), 1,
               m->page_size >> DMA_SLOT_SHIFT);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Brings the window up to date with the memory of 'holder', and adds the
 * memory that contains physical address 'missing' (0 for none). */
static void
scan_holder(int holder, uint64_t missing)
{
    int pid = holders[holder].pid;
    int pagemap, own_pagemap;
    char name[64];
    FILE *maps;

    snprintf(name, sizeof name, "/proc/%d/pagemap", pid);
    pagemap = open(name, O_RDONLY | O_CLOEXEC);
    own_pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    maps = fopen(name, "re");
    if (pagemap >= 0 && own_pagemap >= 0 && maps) {
        struct mapping *mappings;
        size_t n;

        mappings = read_mappings(pid, maps, &n);
        mark_wanted(holder, pagemap, mappings, n, missing);
        if (first_slot < end_slot) {
            memset(slot_seen + first_slot, 0, end_slot - first_slot);
        }
        for (size_t i = 0; i < n; i++) {
            if (mappings[i].wanted) {
                scan_mapping(holder, pagemap, own_pagemap, &mappings[i]);
            }
        }
        free(mappings);
        release_slots(holder, true);
    }
    if (maps) {
        fclose(maps);
    }
    if (pagemap >= 0) {
        close(pagemap);
    }
    if (own_pagemap >= 0) {
        close(own_pagemap);
    }
}

/* Returns a bit mask of the devices whose registers 'pid' has mapped. */
static unsigned int
devices_of_process(pid_t pid)
{
    unsigned int mask = 0;
    char line[1024];
    FILE *maps;

    snprintf(line, sizeof line, "/proc/%d/maps", (int) pid);
    maps = fopen(line, "re");
    if (!maps) {
        return 0;
    }
    while (fgets(line, sizeof line, maps)) {
        unsigned int major, minor;
        unsigned long inode;

        if (sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode)
            != 3) {
            continue;
        }
        for (unsigned int i = 0; i < n_devices; i++) {
            if (inode == devices[i].ino
                && makedev(major, minor) == devices[i].dev) {
                mask |= 1u << i;
            }
        }
    }
    fclose(maps);
    return mask;
}

/* Finds the process of each device that has none.  If several have the
 * device mapped (DPDK secondary processes), the one with the lowest process
 * id is the primary. */
static void
find_holders(void)
{
    pid_t found[DMA_MAX_DEVICES] = { 0 };
    struct dirent *entry;
    bool missing = false;
    DIR *proc;

    for (unsigned int i = 0; i < n_devices; i++) {
        missing |= devices[i].holder < 0;
    }
    proc = missing ? opendir("/proc") : NULL;
    if (!proc) {
        return;
    }
    while ((entry = readdir(proc))) {
        pid_t pid = atoi(entry->d_name);
        unsigned int mask;

        if (pid <= 0 || pid == getpid()) {
            continue;
        }
        mask = devices_of_process(pid);
        for (unsigned int i = 0; i < n_devices; i++) {
            if (mask >> i & 1 && (!found[i] || pid < found[i])) {
                found[i] = pid;
            }
        }
    }
    closedir(proc);

    for (unsigned int i = 0; i < n_devices; i++) {
        if (devices[i].holder < 0 && found[i]) {
            devices[i].holder = holder_get(found[i]);
        }
    }
}

/* Does dma_refresh() and adds the memory with physical address 'missing' (0
 * for none) to the window. */
static void
refresh(uint64_t missing)
{
    find_holders();
    for (int i = 0; i < DMA_MAX_DEVICES; i++) {
        if (holders[i].pid) {
            scan_holder(i, missing);
        }
    }
}

void
dma_refresh(void)
{
    refresh(0);
}

unsigned int
dma_reap(void)
{
    unsigned int mask = 0;

    for (int i = 0; i < DMA_MAX_DEVICES; i++) {
        struct pollfd pfd = { .fd = holders[i].pidfd, .events = POLLIN };

        if (!holders[i].pid || poll(&pfd, 1, 0) <= 0) {
            continue;
        }
        log_info("DPDK process %d is gone", (int) holders[i].pid);
        for (unsigned int j = 0; j < n_devices; j++) {
            if (devices[j].holder == i) {
                devices[j].holder = -1;
                mask |= 1u << j;
            }
        }
        release_slots(i, false);
        close(holders[i].pidfd);
        holders[i] = (struct holder) { .pid = 0 };
    }
    return mask;
}

void
dma_release(void)
{
    if (first_slot < end_slot) {
        unmap_slots(first_slot, end_slot - first_slot);
    }
    first_slot = N_SLOTS;
    end_slot = 0;
}

void *
dma_ptr_slow(uint64_t pa, uint32_t len)
{
    uint64_t slot = pa >> DMA_SLOT_SHIFT;
    uint64_t now = tsc_now();

    if (pa < DMA_WINDOW_SIZE
        && (slot != missing_slot || now >= next_search)) {
        refresh(pa);
        if (dma_slots[slot] && dma_slots[(pa + len - 1) >> DMA_SLOT_SHIFT]) {
            return dma_window + pa;
        }
        missing_slot = slot;
        next_search = now + tsc_from_usec(SEARCH_PAUSE_USEC);
    }
    if (!dma_faults++) {
        log_info("no DPDK process has memory at physical address %#"PRIx64,
                 pa);
    }
    return NULL;
}
