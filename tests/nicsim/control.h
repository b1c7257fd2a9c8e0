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

#ifndef NICSIM_CONTROL_H
#define NICSIM_CONTROL_H 1

/* The control socket: a Unix stream socket that takes one command per line
 * and answers each with one line of JSON.  README.md lists the commands. */

#include "util.h"

/* Settings of the main loop that can be changed at run time. */
struct loop_settings {
    uint32_t idle_sleep_usec;   /* Sleep when there is nothing to do. */
    bool loop;                  /* Cables from port to port, no generator. */
};

extern struct loop_settings loop_settings;

/* Creates the socket at 'path'.  Ends the process if that fails. */
void control_open(const char *path);

/* Serves clients.  Returns false when one said "quit". */
bool control_poll(void);

/* Removes the socket. */
void control_close(void);

/* Sets option 'key', as on the command line without dashes, to 'value'.
 * Returns NULL, or why not: a sentence that the caller frees. */
char *control_set(const char *key, const char *value);

#endif /* control.h */
