// graft: lib/dpif-netdev-private-thread.h 1
@include_recycle@
@@
 #include "openvswitch/thread.h"
+#include "pmd-mbuf-recycle.h"

// graft: lib/dpif-netdev-private-thread.h 1
@recycle_member@
@@
 struct dp_netdev_pmd_thread {
     ...
+
+    /* Mbufs that go back to the Rx rings they came from. */
+    struct pmd_mbuf_recycle mbuf_recycle;
 };
