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
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "dma.h"
#include "generator.h"
#include "nic.h"
#include "stream.h"

/* How often registers are served, statistics and settings are looked at, and
 * lost frames are looked for. */
#define POLL_USEC 20
#define TICK_USEC 1000
#define LOSS_TICK_USEC (500 * 1000 / STREAM_MARKS)

static volatile sig_atomic_t stopping;

static void
on_signal(int sig)
{
    (void) sig;
    stopping = 1;
}

static void
usage(FILE *f)
{
    fprintf(f,
"usage: nicsim --devices DIR --ctl SOCKET [OPTION...]\n"
"A software NIC: serves the devices in DIR, made by nicsim-launch.\n"
"\n"
"  --devices DIR       folder of PCI devices ($NICSIM_DEVICES)\n"
"  --ctl SOCKET        create a control socket, see nicsimctl\n"
"  --cpu N             run on processor N\n"
"  --fifo PRIO         run with real-time priority PRIO (SCHED_FIFO)\n"
"  --idle-sleep USEC   sleep when there is nothing to do (default 0: spin,\n"
"                      or 10 with --fifo)\n"
"  --frame-size B      bytes of a generated frame with CRC, 64 to 1518\n"
"  --flows N           number of flows, used in turn (default 1)\n"
"  --rate MPPS         million frames per second and port (default: any)\n"
"  --window N          at most N frames of a port under way (default: any)\n"
"  --min-burst N       wanted frames per burst, 1 to 64 (default 32)\n"
"  --loop              connect the ports to each other, no generator\n"
"  --keep-payload      write each buffer once, then only descriptors\n"
"  -v, --verbose       say more\n"
"  -h, --help          say this\n");
}

/* Returns the number in 'text', from 'min' to 'max', or ends the process. */
static long
parse_long(const char *option, const char *text, long min, long max)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end || value < min || value > max) {
        die("--%s must be a number from %ld to %ld, not \"%s\"", option, min,
            max, text);
    }
    return value;
}

static void
run_on_cpu(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) {
        die("cannot run on processor %d: %s", cpu, strerror(errno));
    }
}

static void
run_as_fifo(int priority)
{
    struct sched_param param = { .sched_priority = priority };

    if (sched_setscheduler(0, SCHED_FIFO, &param)) {
        die("cannot get real-time priority %d: %s%s", priority,
            strerror(errno),
            (errno == EPERM ? " (needs root and a control group with "
                              "real-time budget)" : ""));
    }
}

static int
is_device(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Opens all devices in 'dir', in the order of their addresses. */
static void
open_devices(const char *dir)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, is_device, alphasort);

    if (n < 0) {
        die("cannot read folder %s: %s", dir, strerror(errno));
    }
    for (int i = 0; i < n; i++) {
        nic_open(dir, entries[i]->d_name);
        generator_create(nic_ports[i]);
        free(entries[i]);
    }
    free(entries);
    if (!n) {
        die("no device in folder %s", dir);
    }
}

/* Takes a burst of frames from 'q' if there is one.  Small bursts are held
 * back for a moment, as in the other direction.  Returns the number of
 * frames. */
static unsigned int
run_txq(struct port *port, struct tx_queue *q, uint64_t now)
{
    struct tx_frame frames[NIC_BURST];
    unsigned int pending = ring_pending(q->tail, q->head, q->size);
    unsigned int n;

    if (!pending || q->faulted) {
        return 0;
    }
    if (pending < generator_settings.min_burst) {
        if (!q->waiting_since) {
            q->waiting_since = now;
            return 0;
        } else if (now - q->waiting_since
                   < tsc_from_usec(GENERATOR_BURST_USEC)) {
            return 0;
        }
    }
    q->waiting_since = 0;

    n = port->class->tx_fetch(port, q, frames, NIC_BURST);
    if (UNLIKELY(!port->link_up)) {
        q->n.tx_dropped += n;
    } else {
        for (unsigned int i = 0; i < n; i++) {
            q->n.tx_bytes += frames[i].len;
            port->tx_sizes[packet_size_class(frames[i].len)]++;
            if (!generator_settings.keep_payload || loop_settings.loop) {
                port->tx_casts[packet_cast(frames[i].data)]++;
            } else {
                port->tx_casts[CAST_UNICAST]++;
            }
        }
        q->n.tx_packets += n;
        if (loop_settings.loop) {
            struct port *peer = nic_peer(port);

            if (peer->link_up) {
                nic_receive(peer, frames, n);
            }
        } else {
            generator_return(port, frames, n);
        }
    }
    port->class->tx_commit(q);
    return n;
}

/* Moves frames of all ports.  Returns how many. */
static unsigned int
run_ports(uint64_t now)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < nic_n_ports; i++) {
        struct port *port = nic_ports[i];

        for (unsigned int j = 0; j < port->n_active_txqs; j++) {
            n += run_txq(port, &port->txqs[port->active_txqs[j]], now);
        }
        n += generator_run(port->generator, now);
    }
    return n;
}

/* Serves the registers of all ports.  Returns true if a driver is at work. */
static bool
poll_ports(void)
{
    bool worked = false;

    for (unsigned int i = 0; i < nic_n_ports; i++) {
        worked |= nic_ports[i]->class->poll(nic_ports[i]);
    }
    return worked;
}

/* Does what is needed about once per millisecond.  Returns false to end. */
static bool
tick_ports(void)
{
    unsigned int gone = dma_reap();

    for (unsigned int i = 0; i < nic_n_ports; i++) {
        struct port *port = nic_ports[i];

        if (gone >> port->dma_device & 1) {
            port->class->reset(port);
        }
        port->class->tick(port);
    }
    if (gone) {
        generator_forget_payloads();
    }
    return control_poll();
}

static void
idle(void)
{
    struct timespec pause = {
        .tv_nsec = loop_settings.idle_sleep_usec * 1000
    };

    if (loop_settings.idle_sleep_usec) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    } else {
        __builtin_ia32_pause();
    }
}

static void
main_loop(void)
{
    uint64_t next_poll = 0, next_tick = 0, next_loss_tick = 0;

    while (!stopping) {
        uint64_t now = tsc_now();
        bool worked = run_ports(now) > 0;

        if (now >= next_poll) {
            next_poll = now + tsc_from_usec(POLL_USEC);
            worked |= poll_ports();
        }
        if (now >= next_tick) {
            next_tick = now + tsc_from_usec(TICK_USEC);
            if (!tick_ports()) {
                return;
            }
        }
        if (now >= next_loss_tick) {
            next_loss_tick = now + tsc_from_usec(LOSS_TICK_USEC);
            for (unsigned int i = 0; i < nic_n_ports; i++) {
                generator_tick(nic_ports[i]->generator);
            }
        }
        if (!worked) {
            idle();
        }
    }
}

/* Applies option 'key' with 'value', or ends the process. */
static void
set_option(const char *key, const char *value)
{
    char *error = control_set(key, value);

    if (error) {
        die("--%s: %s", key, error);
    }
}

int
main(int argc, char *argv[])
{
    enum { OPT_DEVICES = 256, OPT_CTL, OPT_CPU, OPT_FIFO, OPT_SET, OPT_FLAG };
    static const struct option options[] = {
        { "devices", required_argument, NULL, OPT_DEVICES },
        { "ctl", required_argument, NULL, OPT_CTL },
        { "cpu", required_argument, NULL, OPT_CPU },
        { "fifo", required_argument, NULL, OPT_FIFO },
        { "idle-sleep", required_argument, NULL, OPT_SET },
        { "frame-size", required_argument, NULL, OPT_SET },
        { "flows", required_argument, NULL, OPT_SET },
        { "rate", required_argument, NULL, OPT_SET },
        { "window", required_argument, NULL, OPT_SET },
        { "min-burst", required_argument, NULL, OPT_SET },
        { "loop", no_argument, NULL, OPT_FLAG },
        { "keep-payload", no_argument, NULL, OPT_FLAG },
        { "verbose", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const char *devices = NULL, *ctl = NULL;
    int cpu = -1, fifo = 0;
    int option, i;

    tsc_calibrate();
    while ((option = getopt_long(argc, argv, "vh", options, &i)) >= 0) {
        switch (option) {
        case OPT_DEVICES:
            devices = optarg;
            break;
        case OPT_CTL:
            ctl = optarg;
            break;
        case OPT_CPU:
            cpu = parse_long("cpu", optarg, 0, CPU_SETSIZE - 1);
            break;
        case OPT_FIFO:
            fifo = parse_long("fifo", optarg, 1, 99);
            if (!loop_settings.idle_sleep_usec) {
                loop_settings.idle_sleep_usec = 10;
            }
            break;
        case OPT_SET:
            set_option(options[i].name, optarg);
            break;
        case OPT_FLAG:
            set_option(options[i].name, "1");
            break;
        case 'v':
            log_level++;
            break;
        case 'h':
            usage(stdout);
            return 0;
        default:
            usage(stderr);
            return 1;
        }
    }
    if (optind < argc || !devices || !ctl) {
        usage(stderr);
        return 1;
    }
    if (!__builtin_cpu_supports("sse4.2")) {
        die("this processor has no SSE4.2, which the frames' checksums "
            "need");
    }

    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGPIPE, SIG_IGN);
    if (cpu >= 0) {
        run_on_cpu(cpu);
    }
    dma_init();
    open_devices(devices);
    generator_settings_changed();
    control_open(ctl);
    if (fifo) {
        run_as_fifo(fifo);
    }

    main_loop();

    control_close();
    dma_release();
    return 0;
}
