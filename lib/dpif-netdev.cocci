// The switch of mbuf recycling, and its place in the life of a PMD thread.

// graft: lib/dpif-netdev.c 1
@dp_config_member@
@@
 struct dp_netdev {
     ...
+
+    /* Mbuf recycling, as configured. */
+    struct pmd_mbuf_recycle_config mbuf_recycle;
 };

// graft: lib/dpif-netdev.c 1
@dp_config_init@
identifier dp;
@@
 create_dp_netdev(...)
 {
 ...
+    pmd_mbuf_recycle_config_init(&dp->mbuf_recycle);
     cmap_init(&dp->poll_threads);
 ...
 }

// graft: lib/dpif-netdev.c 1
@dp_config_destroy@
identifier dp;
@@
 dp_netdev_free(struct dp_netdev *dp)
 {
 ...
+    pmd_mbuf_recycle_config_destroy(&dp->mbuf_recycle);
     free(dp->max_sleep_list);
 ...
 }

// graft: lib/dpif-netdev.c 1
@dp_config_set@
@@
 dpif_netdev_set_config(...)
 {
 ...
+    pmd_mbuf_recycle_config_set(&dp->mbuf_recycle, other_config);
+
     first_set_config = false;
 ...
 }

// graft: lib/dpif-netdev.c 1
@pmd_init@
identifier pmd, dp, core_id, numa_id;
@@
 dp_netdev_configure_pmd(struct dp_netdev_pmd_thread *pmd,
                         struct dp_netdev *dp, unsigned core_id, int numa_id)
 {
 ...
     pmd_perf_stats_init(&pmd->perf_stats);
+    pmd_mbuf_recycle_init(&pmd->mbuf_recycle, &dp->mbuf_recycle, dp->name,
+                          core_id, numa_id);
 ...
 }

// graft: lib/dpif-netdev.c 1
@pmd_destroy@
identifier dp, pmd;
@@
 dp_netdev_del_pmd(struct dp_netdev *dp, struct dp_netdev_pmd_thread *pmd)
 {
 ...
     dp_netdev_pmd_clear_ports(pmd);
+    pmd_mbuf_recycle_destroy(&pmd->mbuf_recycle);
 ...
 }

// graft: lib/dpif-netdev.c 1
@load_recycle@
identifier f;
@@
+/* Makes 'pmd', the calling thread, recycle mbufs of the 'poll_cnt' Rx queues
+ * in 'poll_list' as far as the configuration and the queues allow. */
+static void
+pmd_load_mbuf_recycle(struct dp_netdev_pmd_thread *pmd,
+                      const struct polled_queue *poll_list, int poll_cnt)
+{
+    struct netdev_rxq **rxqs = xmalloc(poll_cnt * sizeof *rxqs);
+
+    for (int i = 0; i < poll_cnt; i++) {
+        rxqs[i] = poll_list[i].rxq->rx;
+    }
+    pmd_mbuf_recycle_start(&pmd->mbuf_recycle, rxqs, poll_cnt);
+    free(rxqs);
+}
+
 static void *
 pmd_thread_main(void *f)
 {
 ...
 }

// graft: lib/dpif-netdev.c 2
@load_with_queues@
identifier f, pmd, poll_cnt, poll_list;
@@
 pmd_thread_main(void *f)
 {
 <...
     poll_cnt = pmd_load_queues_and_ports(pmd, &poll_list);
+    pmd_load_mbuf_recycle(pmd, poll_list, poll_cnt);
 ...>
 }

// graft: lib/dpif-netdev.c 1
@flush_before_sleep@
identifier f, pmd;
expression timer, E;
@@
 pmd_thread_main(void *f)
 {
 <...
     cycle_timer_start(&pmd->perf_stats, timer);
+    pmd_mbuf_recycle_flush(&pmd->mbuf_recycle);
     xnanosleep_no_quiesce(E);
 ...>
 }

// graft: lib/dpif-netdev.c 1
@end_iteration@
identifier f;
@@
 pmd_thread_main(void *f)
 {
 <...
+    if (pmd_mbuf_recycle_end_iteration(&pmd->mbuf_recycle, s)) {
+        pmd_load_mbuf_recycle(pmd, poll_list, poll_cnt);
+    }
+
     pmd_perf_end_iteration(...);
 ...>
 }

// graft: lib/dpif-netdev.c 1
@stop_at_exit@
identifier f, pmd;
@@
 pmd_thread_main(void *f)
 {
 <...
+    pmd_mbuf_recycle_stop(&pmd->mbuf_recycle);
     pmd_free_static_tx_qid(pmd);
     dfc_cache_uninit(&pmd->flow_cache);
 ...>
 }

// graft: lib/dpif-netdev.c 1
@register_show@
@@
 dpif_netdev_init(void)
 {
 ...
+    pmd_mbuf_recycle_register();
     return 0;
 }
