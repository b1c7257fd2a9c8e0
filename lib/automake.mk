lib_libopenvswitch_la_SOURCES += \
	lib/dp-packet-return.h \
	lib/mbuf-return.h \
	lib/pmd-mbuf-recycle.c \
	lib/pmd-mbuf-recycle.h

if DPDK_NETDEV
lib_libopenvswitch_la_SOURCES += \
	lib/dp-packet-return.c \
	lib/mbuf-return.c
endif
