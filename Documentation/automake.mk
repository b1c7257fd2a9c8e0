DOC_SOURCE += Documentation/topics/dpdk/mbuf-recycle.rst
