// Return of mbufs to Rx rings: the Rx and vhost side of netdev-dpdk.

// graft: lib/netdev-dpdk.c 1
@rxq_ring_member@
@@
 struct netdev_rxq_dpdk {
     ...
+    struct mbuf_return_ring *ring; /* Takes mbufs back, NULL if it does not.
+                                    * For the PMD thread that polls only. */
 };

// graft: lib/netdev-dpdk.c 1
@refill_before_rx_burst@
identifier rxq, batch, qfill, rx;
expression E;
@@
 netdev_dpdk_rxq_recv(struct netdev_rxq *rxq, struct dp_packet_batch *batch,
                      int *qfill)
 {
 ...
+    if (OVS_UNLIKELY(rx->ring)) {
+        mbuf_return_refill(rx->ring);
+    }
     E = rte_eth_rx_burst(rx->port_id, ...);
 ...
 }

// graft: lib/netdev-dpdk.c 1
@return_after_enqueue@
expression pkts, n;
@@
 netdev_dpdk_vhost_send(...)
 {
 <...
-    rte_pktmbuf_free_bulk(pkts, n);
+    mbuf_return_free_bulk(pkts, n);
 ...>
 }

// graft: lib/netdev-dpdk.c 1
@return_unsent@
expression pkts, n;
@@
 netdev_dpdk_eth_tx_burst(...)
 {
 <...
-    rte_pktmbuf_free_bulk(pkts, n);
+    mbuf_return_free_bulk(pkts, n);
 ...>
 }

// graft: lib/netdev-dpdk.c 1
@rxq_mbuf_return@
identifier rxq;
@@
 static void
 netdev_dpdk_rxq_dealloc(struct netdev_rxq *rxq)
 {
 ...
 }

+static struct mbuf_return_ring *
+netdev_dpdk_rxq_mbuf_return(struct netdev_rxq *rxq, struct mbuf_return *mr,
+                            char **whyp)
+{
+    struct netdev_rxq_dpdk *rx = netdev_rxq_dpdk_cast(rxq);
+
+    if (rx->ring) {
+        mbuf_return_ring_close(rx->ring);
+        rx->ring = NULL;
+    }
+    if (mr) {
+        rx->ring = mbuf_return_ring_open(mr, rx->port_id, rxq->queue_id, whyp);
+    }
+    return rx->ring;
+}
+

// graft: lib/netdev-dpdk.c 1
@class_rxq_mbuf_return@
@@
 struct netdev_class dpdk_class = {
     ...,
+    .rxq_mbuf_return = netdev_dpdk_rxq_mbuf_return,
 };
