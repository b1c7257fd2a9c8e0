// Return of mbufs to Rx rings: batches that are deleted.

// graft: lib/dp-packet.h 1
@include_dp_packet_return@
@@
 #include "csum.h"
+#include "dp-packet-return.h"

// graft: lib/dp-packet.h 1
@return_deleted_batch@
identifier batch, should_steal, packet;
@@
 dp_packet_delete_batch(struct dp_packet_batch *batch, bool should_steal)
 {
 if (should_steal) {
     struct dp_packet *packet;
+
+    dp_packet_batch_return(batch);
     ...
 }
 }
