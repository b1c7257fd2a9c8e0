# Copyright (c) 2026 The mbuf-recycle authors.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at:
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

# The software NIC, its unit tests and the scripts that go with it.  Plain C,
# needs nothing but libc.

noinst_PROGRAMS += tests/nicsim/nicsim tests/nicsim/test-nicsim

nicsim_common_sources = \
	tests/nicsim/dma.c \
	tests/nicsim/dma.h \
	tests/nicsim/frame.c \
	tests/nicsim/frame.h \
	tests/nicsim/generator.c \
	tests/nicsim/generator.h \
	tests/nicsim/nic.c \
	tests/nicsim/nic.h \
	tests/nicsim/packet.c \
	tests/nicsim/packet.h \
	tests/nicsim/rss.c \
	tests/nicsim/rss.h \
	tests/nicsim/stream.c \
	tests/nicsim/stream.h \
	tests/nicsim/util.c \
	tests/nicsim/util.h \
	tests/nicsim/xl710-aq.c \
	tests/nicsim/xl710-data.c \
	tests/nicsim/xl710-hmc.c \
	tests/nicsim/xl710-regs.h \
	tests/nicsim/xl710-rss.c \
	tests/nicsim/xl710.c \
	tests/nicsim/xl710.h

tests_nicsim_nicsim_SOURCES = \
	$(nicsim_common_sources) \
	tests/nicsim/control.c \
	tests/nicsim/control.h \
	tests/nicsim/nicsim.c

tests_nicsim_test_nicsim_SOURCES = \
	$(nicsim_common_sources) \
	tests/nicsim/test-nicsim.c

EXTRA_DIST += \
	tests/nicsim/README.md \
	tests/nicsim/nicsim-cases \
	tests/nicsim/nicsim-launch \
	tests/nicsim/nicsimctl \
	tests/nicsim/with-hugepages
