// graft: lib/netdev-provider.h 1
@forward_declarations@
@@
 struct netdev_tnl_build_header_params;
+struct mbuf_return;
+struct mbuf_return_ring;

// graft: lib/netdev-provider.h 1
@class_rxq_mbuf_return@
@@
 struct netdev_class {
     ...
+
+    /* Ends the return of mbufs to the Rx ring of 'rx'.  Then, if 'mr' is not
+     * NULL, makes the calling PMD thread, which owns 'mr' and polls 'rx',
+     * return mbufs to that ring.  Returns the ring, which lives until the next
+     * call and before 'rx' or its netdev changes, or NULL with the reason in
+     * words in '*whyp', which the caller frees.
+     *
+     * NULL if no Rx queue of the class can take mbufs back. */
+    struct mbuf_return_ring *(*rxq_mbuf_return)(struct netdev_rxq *rx,
+                                                struct mbuf_return *mr,
+                                                char **whyp);
 };
