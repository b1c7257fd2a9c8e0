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

/* What spatch must know about Open vSwitch's macros to parse its source files.
 *
 * spatch does not run the preprocessor.  It guesses what a macro stands for,
 * and where it guesses wrong it skips the function around it, so that no rule
 * applies there.  Iterators need no entry: spatch takes any macro that has
 * FOR_EACH in its name for one. */

/* Annotations of functions, parameters and variables. */
#define OVS_ACQUIRES(...)
#define OVS_ACQ_AFTER(...)
#define OVS_ACQ_BEFORE(...)
#define OVS_ALIGNED_VAR(SIZE)
#define OVS_EXCLUDED(...)
#define OVS_FORCE
#define OVS_GUARDED
#define OVS_GUARDED_BY(...)
#define OVS_LOCKABLE
#define OVS_NO_THREAD_SAFETY_ANALYSIS
#define OVS_PRINTF_FORMAT(FMT, ARG1)
#define OVS_RELEASES(...)
#define OVS_REQUIRES(...)
#define OVS_REQ_RDLOCK(...)
#define OVS_REQ_WRLOCK(...)
#define OVS_TRY_LOCK(...)
#define OVS_UNUSED
#define OVS_WARN_UNUSED_RESULT
#define ALWAYS_INLINE

/* Types. */
#define ATOMIC(TYPE) TYPE
#define OVSRCU_TYPE(TYPE) TYPE

/* Declarations. */
#define DEFINE_STATIC_PER_THREAD_DATA(TYPE, NAME, ...) static TYPE NAME
#define PADDED_MEMBERS(...) int padded
#define PADDED_MEMBERS_CACHELINE_MARKER(CACHELINE, MEMBER, ...) int MEMBER
