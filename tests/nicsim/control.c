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
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dma.h"
#include "generator.h"
#include "nic.h"
#include "stream.h"
#include "xl710.h"

#define MAX_CLIENTS 8
#define MAX_LINE 256

struct client {
    int fd;                     /* -1 if the entry is free. */
    char line[MAX_LINE];        /* Start of a command. */
    size_t line_len;            /* Bytes of 'line'. */
    char *reply;                /* Not yet written, or NULL. */
    size_t reply_ofs;           /* Bytes of 'reply' that are written. */
    uint64_t drain_deadline;    /* TSC until which "drain" waits, or 0. */
};

struct loop_settings loop_settings;

static int listen_fd = -1;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static struct client clients[MAX_CLIENTS];
static bool quit;

void
control_open(const char *path)
{
    if (strlen(path) >= sizeof address.sun_path) {
        die("the socket's path has more than %zu characters: %s",
            sizeof address.sun_path - 1, path);
    }
    strcpy(address.sun_path, path);
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        clients[i].fd = -1;
    }
    listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                       0);
    if (listen_fd < 0) {
        die("cannot create a socket: %s", strerror(errno));
    }
    unlink(path);
    if (bind(listen_fd, (struct sockaddr *) &address, sizeof address)
        || listen(listen_fd, 64)) {
        die("cannot listen on %s: %s", path, strerror(errno));
    }
}

void
control_close(void)
{
    if (listen_fd >= 0) {
        close(listen_fd);
        unlink(address.sun_path);
        listen_fd = -1;
    }
}

/* Returns {"error": "<sentence>"} in new memory. */
static char *
error_reply(const char *sentence)
{
    char *reply;
    size_t size;
    FILE *f = open_memstream(&reply, &size);

    fputs("{\"error\": \"", f);
    for (const char *p = sentence; *p; p++) {
        unsigned char c = *p;

        if (c == '"' || c == '\\') {
            fprintf(f, "\\%c", c);
        } else if (c < 0x20 || c > 0x7e) {
            fprintf(f, "\\u%04x", c);
        } else {
            fputc(c, f);
        }
    }
    fputs("\"}", f);
    fclose(f);
    return reply;
}

/* Returns the formatted string in new memory. */
PRINTF_FORMAT(1, 2)
static char *
xasprintf(const char *format, ...)
{
    va_list args;
    char *s;

    va_start(args, format);
    if (vasprintf(&s, format, args) < 0) {
        die("out of memory");
    }
    va_end(args);
    return s;
}

/* Adds 'name' and the difference of 'n' and 'base' to the JSON object. */
static void
put_counter(FILE *f, const char *name, uint64_t n, uint64_t base)
{
    fprintf(f, ", \"%s\": %"PRId64, name, (int64_t) (n - base));
}

static void
put_rx(FILE *f, const struct rx_counters *n, const struct rx_counters *base)
{
#define COUNTER(NAME) put_counter(f, #NAME, n->NAME, base->NAME);
    RX_COUNTERS
#undef COUNTER
}

static void
put_tx(FILE *f, const struct tx_counters *n, const struct tx_counters *base)
{
#define COUNTER(NAME) put_counter(f, #NAME, n->NAME, base->NAME);
    TX_COUNTERS
#undef COUNTER
}

static void
put_stream(FILE *f, const struct stream_counters *n,
           const struct stream_counters *base, uint64_t outstanding)
{
#define COUNTER(NAME) put_counter(f, #NAME, n->NAME, base->NAME);
    STREAM_COUNTERS
#undef COUNTER
    put_counter(f, "gen_outstanding", outstanding, 0);
}

/* Adds 'port''s totals, without its queues. */
static void
put_totals(FILE *f, const struct port *port)
{
    const struct generator *g = port->generator;
    struct rx_counters rx = { 0 }, rx_base = { 0 };
    struct tx_counters tx = { 0 }, tx_base = { 0 };
    struct stream_counters stream = { 0 }, stream_base = { 0 };

    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        const struct rx_queue *rxq = &port->rxqs[i];
        const struct tx_queue *txq = &port->txqs[i];

#define COUNTER(NAME) \
        rx.NAME += rxq->n.NAME; rx_base.NAME += rxq->base.NAME;
        RX_COUNTERS
#undef COUNTER
#define COUNTER(NAME) \
        tx.NAME += txq->n.NAME; tx_base.NAME += txq->base.NAME;
        TX_COUNTERS
#undef COUNTER
        if (rxq->stream) {
#define COUNTER(NAME) \
            stream.NAME += rxq->stream->n.NAME; \
            stream_base.NAME += rxq->stream->base.NAME;
            STREAM_COUNTERS
#undef COUNTER
        }
    }
    put_rx(f, &rx, &rx_base);
    put_tx(f, &tx, &tx_base);
    put_stream(f, &stream, &stream_base, generator_outstanding(g));
#define COUNTER(NAME) put_counter(f, #NAME, g->n.NAME, g->base.NAME);
    GENERATOR_COUNTERS
#undef COUNTER
}

/* Adds the queues of 'port' that are or were enabled. */
static void
put_queues(FILE *f, const struct port *port)
{
    static const struct stream_counters no_stream;
    bool first = true;

    fputs(", \"queues\": [", f);
    for (unsigned int i = 0; i < NIC_MAX_QUEUES; i++) {
        const struct rx_queue *rxq = &port->rxqs[i];
        const struct tx_queue *txq = &port->txqs[i];
        const struct stream *s = rxq->stream;

        if (!s && !txq->size) {
            continue;
        }
        fprintf(f, "%s{\"queue\": %u, \"rx_enabled\": %s, "
                "\"tx_enabled\": %s, \"rx_faulted\": %s, "
                "\"tx_faulted\": %s",
                first ? "" : ", ", s ? rxq->number : txq->number,
                rxq->enabled ? "true" : "false",
                txq->enabled ? "true" : "false",
                rxq->faulted ? "true" : "false",
                txq->faulted ? "true" : "false");
        put_rx(f, &rxq->n, &rxq->base);
        put_tx(f, &txq->n, &txq->base);
        put_stream(f, s ? &s->n : &no_stream, s ? &s->base : &no_stream,
                   s ? stream_outstanding(s) : 0);
        fputc('}', f);
        first = false;
    }
    fputc(']', f);
}

static char *
stats_reply(void)
{
    struct rusage usage;
    pid_t pid = 0;
    char *reply;
    size_t size;
    FILE *f = open_memstream(&reply, &size);

    fputs("{\"ports\": [", f);
    for (unsigned int i = 0; i < nic_n_ports; i++) {
        const struct port *port = nic_ports[i];

        fprintf(f, "%s{\"index\": %u, \"pci\": \"%s\", \"link\": \"%s\", "
                "\"running\": %s", i ? ", " : "", i, port->pci,
                port->link_up ? "up" : "down",
                port->generator->running ? "true" : "false");
        put_totals(f, port);
        put_queues(f, port);
        fputc('}', f);
        if (!pid) {
            pid = dma_device_pid(port->dma_device);
        }
    }
    getrusage(RUSAGE_SELF, &usage);
    fprintf(f, "], \"dma_faults\": %"PRIu64", \"dpdk_pid\": %d, "
            "\"involuntary_switches\": %ld, \"aq_unknown\": %"PRIu64"}",
            dma_faults, (int) pid, usage.ru_nivcsw, xl710_aq_unknown);
    fclose(f);
    return reply;
}

static void
clear_counters(void)
{
    for (unsigned int i = 0; i < nic_n_ports; i++) {
        struct port *port = nic_ports[i];

        for (unsigned int j = 0; j < NIC_MAX_QUEUES; j++) {
            struct rx_queue *rxq = &port->rxqs[j];

            rxq->base = rxq->n;
            port->txqs[j].base = port->txqs[j].n;
            if (rxq->stream) {
                /* What is under way now counts as sent afterwards. */
                rxq->stream->base = rxq->stream->n;
                rxq->stream->base.gen_sent
                    -= stream_outstanding(rxq->stream);
            }
        }
        port->generator->base = port->generator->n;
    }
}

/* Sets '*value' from 'text'.  Returns false if it is not a number from 'min'
 * to 'max'. */
static bool
parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    return (*text >= '0' && *text <= '9' && !*end && !errno
            && *value >= min && *value <= max);
}

/* Sets '*rate', in frames per second, from 'text', in millions. */
static bool
parse_rate(const char *text, double *rate)
{
    char *end;

    *rate = strtod(text, &end) * 1e6;
    return end != text && !*end && *rate >= 0 && *rate <= 1e9;
}

/* Returns true if no generator runs or has frames under way. */
static bool
generators_quiet(void)
{
    for (unsigned int i = 0; i < nic_n_ports; i++) {
        const struct generator *g = nic_ports[i]->generator;

        if (g->running || generator_outstanding(g)) {
            return false;
        }
    }
    return true;
}

char *
control_set(const char *key, const char *value)
{
    static const struct {
        const char *key;
        uint64_t min;
        uint64_t max;
        uint32_t *value;        /* Where it goes, if it is 32 bits. */
        bool *flag;             /* Where it goes, if it is 0 or 1. */
        bool quiet;             /* Not while frames are under way. */
    } keys[] = {
        { "frame-size", FRAME_MIN_LEN + ETH_CRC_LEN,
          FRAME_MAX_LEN + ETH_CRC_LEN, &generator_settings.frame_size,
          NULL, true },
        { "flows", 1, FRAME_MAX_FLOWS, &generator_settings.n_flows,
          NULL, true },
        { "window", 0, STREAM_WINDOW, &generator_settings.window,
          NULL, false },
        { "min-burst", 1, NIC_BURST, &generator_settings.min_burst,
          NULL, false },
        { "keep-payload", 0, 1, NULL, &generator_settings.keep_payload,
          true },
        { "idle-sleep", 0, 10000, &loop_settings.idle_sleep_usec,
          NULL, false },
        { "loop", 0, 1, NULL, &loop_settings.loop, true },
    };
    uint64_t number;

    if (!strcmp(key, "rate")) {
        if (!parse_rate(value, &generator_settings.rate)) {
            return xasprintf("rate must be a number of million frames per "
                             "second from 0 (any) to 1000, not \"%s\"",
                             value);
        }
        generator_limits_changed();
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (strcmp(key, keys[i].key)) {
            continue;
        }
        if (!parse_u64(value, keys[i].min, keys[i].max, &number)) {
            return xasprintf("%s must be a number from %"PRIu64" to %"PRIu64
                             ", not \"%s\"", key, keys[i].min, keys[i].max,
                             value);
        }
        if (keys[i].quiet && !generators_quiet()) {
            return xasprintf("%s cannot change while frames are under way: "
                             "drain first", key);
        }
        if (keys[i].flag) {
            *keys[i].flag = number;
        } else {
            *keys[i].value = number;
        }
        if (keys[i].quiet) {
            generator_settings_changed();
        } else {
            generator_limits_changed();
        }
        return NULL;
    }
    return xasprintf("there is no setting \"%s\"", key);
}

/* Sets '*first' and '*end' from 'text', "all" or a port number. */
static bool
parse_ports(const char *text, unsigned int *first, unsigned int *end)
{
    uint64_t number;

    if (!strcmp(text, "all")) {
        *first = 0;
        *end = nic_n_ports;
        return true;
    }
    if (!parse_u64(text, 0, nic_n_ports - 1, &number)) {
        return false;
    }
    *first = number;
    *end = number + 1;
    return true;
}

static char *
command_start(char **args, size_t n)
{
    double rate = generator_settings.rate;
    uint64_t count = UINT64_MAX;
    unsigned int first, end;

    if (loop_settings.loop) {
        return xasprintf("there is no generator in loop mode");
    }
    if (n < 1 || !parse_ports(args[0], &first, &end)) {
        return xasprintf("start needs a port number from 0 to %u or \"all\"",
                         nic_n_ports - 1);
    }
    for (size_t i = 1; i < n; i += 2) {
        const char *value = i + 1 < n ? args[i + 1] : "";

        if (!strcmp(args[i], "rate")) {
            if (!parse_rate(value, &rate)) {
                return xasprintf("rate must be a number of million frames "
                                 "per second, not \"%s\"", value);
            }
        } else if (!strcmp(args[i], "count")) {
            if (!parse_u64(value, 1, UINT64_MAX - 1, &count)) {
                return xasprintf("count must be a number of frames, not "
                                 "\"%s\"", value);
            }
        } else {
            return xasprintf("start does not know \"%s\"", args[i]);
        }
    }
    for (unsigned int i = first; i < end; i++) {
        generator_start(nic_ports[i]->generator, rate, count);
    }
    return NULL;
}

static char *
command_stop(char **args, size_t n)
{
    unsigned int first, end;

    if (n != 1 || !parse_ports(args[0], &first, &end)) {
        return xasprintf("stop needs a port number from 0 to %u or \"all\"",
                         nic_n_ports - 1);
    }
    for (unsigned int i = first; i < end; i++) {
        generator_stop(nic_ports[i]->generator);
    }
    return NULL;
}

static char *
command_link(char **args, size_t n)
{
    unsigned int first, end;
    bool up;

    if (n != 2 || !parse_ports(args[0], &first, &end)
        || (strcmp(args[1], "up") && strcmp(args[1], "down"))) {
        return xasprintf("link needs a port number from 0 to %u or \"all\", "
                         "and \"up\" or \"down\"", nic_n_ports - 1);
    }
    up = !strcmp(args[1], "up");
    for (unsigned int i = first; i < end; i++) {
        struct port *port = nic_ports[i];

        if (port->link_up != up) {
            port->link_up = up;
            port->class->link_changed(port);
        }
    }
    return NULL;
}

/* Stops all generators and lets 'c' wait for their frames. */
static char *
command_drain(struct client *c, char **args, size_t n)
{
    uint64_t timeout_ms = 2000;

    if (n > 1 || (n && !parse_u64(args[0], 1, 3600000, &timeout_ms))) {
        return xasprintf("drain needs a timeout in milliseconds");
    }
    for (unsigned int i = 0; i < nic_n_ports; i++) {
        generator_stop(nic_ports[i]->generator);
    }
    c->drain_deadline = tsc_now() + tsc_from_usec(timeout_ms * 1000);
    return NULL;
}

/* Executes the command in 'line'.  Returns the reply in new memory, or NULL
 * if it comes later. */
static char *
execute(struct client *c, char *line)
{
    char *words[8], *saved, *error = NULL, *reply;
    size_t n = 0;

    for (char *word = strtok_r(line, " \t\r", &saved); word;
         word = strtok_r(NULL, " \t\r", &saved)) {
        if (n >= ARRAY_SIZE(words)) {
            return error_reply("too many words");
        }
        words[n++] = word;
    }
    if (!n) {
        return error_reply("empty command");
    }

    if (!strcmp(words[0], "stats") && n == 1) {
        return stats_reply();
    } else if (!strcmp(words[0], "clear") && n == 1) {
        clear_counters();
    } else if (!strcmp(words[0], "quit") && n == 1) {
        quit = true;
    } else if (!strcmp(words[0], "start")) {
        error = command_start(words + 1, n - 1);
    } else if (!strcmp(words[0], "stop")) {
        error = command_stop(words + 1, n - 1);
    } else if (!strcmp(words[0], "link")) {
        error = command_link(words + 1, n - 1);
    } else if (!strcmp(words[0], "set") && n == 3) {
        error = control_set(words[1], words[2]);
    } else if (!strcmp(words[0], "drain")) {
        error = command_drain(c, words + 1, n - 1);
        if (!error) {
            return NULL;
        }
    } else {
        error = xasprintf("unknown command, or wrong arguments: \"%s\"",
                          words[0]);
    }
    reply = error ? error_reply(error) : xasprintf("{}");
    free(error);
    return reply;
}

static void
client_close(struct client *c)
{
    close(c->fd);
    free(c->reply);
    *c = (struct client) { .fd = -1 };
}

/* Writes what can be written of the reply. */
static void
client_write(struct client *c)
{
    size_t len = strlen(c->reply);
    ssize_t n = send(c->fd, c->reply + c->reply_ofs, len - c->reply_ofs,
                     MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN) {
        client_close(c);
    } else if (n > 0) {
        c->reply_ofs += n;
        if (c->reply_ofs == len) {
            free(c->reply);
            c->reply = NULL;
            c->reply_ofs = 0;
        }
    }
}

/* Takes 'reply', without new-line, as the reply to send. */
static void
client_reply(struct client *c, char *reply)
{
    c->reply = xasprintf("%s\n", reply);
    free(reply);
    client_write(c);
}

/* Executes the commands that have arrived, one at a time: the next only when
 * the reply to the previous is written. */
static void
client_execute(struct client *c)
{
    char *end;

    while (c->fd >= 0 && !c->reply && !c->drain_deadline
           && (end = memchr(c->line, '\n', c->line_len))) {
        char line[MAX_LINE];
        size_t n = end - c->line;
        char *reply;

        memcpy(line, c->line, n);
        line[n] = '\0';
        c->line_len -= n + 1;
        memmove(c->line, end + 1, c->line_len);
        reply = execute(c, line);
        if (reply) {
            client_reply(c, reply);
        }
    }
}

/* Reads commands of 'c'. */
static void
client_read(struct client *c)
{
    ssize_t n = recv(c->fd, c->line + c->line_len,
                     sizeof c->line - c->line_len, MSG_DONTWAIT);

    if (n > 0) {
        c->line_len += n;
        client_execute(c);
        if (c->fd >= 0 && c->line_len == sizeof c->line
            && !memchr(c->line, '\n', c->line_len)) {
            c->line_len = 0;
            client_reply(c, error_reply("the command is too long"));
        }
    } else if (!n || (errno != EAGAIN && errno != EINTR)) {
        client_close(c);
    }
}

/* Answers "drain" if there is an answer. */
static void
client_drain(struct client *c)
{
    uint64_t outstanding = 0;

    for (unsigned int i = 0; i < nic_n_ports; i++) {
        outstanding += generator_outstanding(nic_ports[i]->generator);
    }
    if (!outstanding || tsc_now() > c->drain_deadline) {
        c->drain_deadline = 0;
        client_reply(c, xasprintf("{\"drained\": %s, \"gen_outstanding\": "
                                  "%"PRIu64"}",
                                  outstanding ? "false" : "true",
                                  outstanding));
        client_execute(c);
    }
}

/* Accepts clients as long as there is room; others wait in the kernel. */
static void
accept_clients(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        if (clients[i].fd < 0) {
            int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

            if (fd < 0) {
                return;
            }
            clients[i] = (struct client) { .fd = fd };
        }
    }
}

bool
control_poll(void)
{
    struct pollfd fds[MAX_CLIENTS + 1];

    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        fds[i] = (struct pollfd) {
            .fd = clients[i].fd,
            .events = clients[i].reply ? POLLOUT : POLLIN,
        };
        if (clients[i].drain_deadline) {
            client_drain(&clients[i]);
            fds[i].fd = -1;
        }
    }
    fds[MAX_CLIENTS] = (struct pollfd) { .fd = listen_fd, .events = POLLIN };
    if (poll(fds, ARRAY_SIZE(fds), 0) > 0) {
        for (size_t i = 0; i < MAX_CLIENTS; i++) {
            struct client *c = &clients[i];

            if (fds[i].fd < 0 || !fds[i].revents) {
                continue;
            }
            if (c->reply) {
                client_write(c);
                client_execute(c);
            } else {
                client_read(c);
            }
        }
        if (fds[MAX_CLIENTS].revents) {
            accept_clients();
        }
    }
    return !quit;
}
