// graft: lib/dpif-netdev-perf.h 1
@pmd_stats@
@@
 enum pmd_stat_type {
     ...,
-    PMD_N_STATS
+    PMD_STAT_MBUF_RING,     /* Mbufs returned to Rx rings. */
+    PMD_STAT_MBUF_BULK,     /* Mbufs freed in bulk while recycling is on. */
+    PMD_STAT_MBUF_SINGLE,   /* Mbufs freed singly while recycling is on. */
+    PMD_N_STATS
 };

// graft: lib/dpif-netdev-perf.c 1
@include_recycle@
@@
 #include "ovs-thread.h"
+#include "pmd-mbuf-recycle.h"

// graft: lib/dpif-netdev-perf.c 1
@format_recycled@
identifier str, s, duration, stats;
@@
 pmd_perf_format_overall_stats(struct ds *str, struct pmd_perf_stats *s,
                               double duration)
 {
 ...
     pmd_perf_read_counters(s, stats);
 ...
+    pmd_mbuf_recycle_format_perf(str, stats);
 }
