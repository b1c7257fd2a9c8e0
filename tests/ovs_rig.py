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

"""Open vSwitch between a software XL710 and a vhost-user guest.

    nicsim port 0 <-> dpdk0 -+     +- vhost0 <-> guest port 0 -+
                             | br0 |                           | macswap
    nicsim port 1 <-> dpdk1 -+     +- vhost1 <-> guest port 1 -+

class Rig starts and stops these processes, and reads their counters.  It is
shared by utilities/demo and the system tests.  Everything runs in the private
namespaces that tests/nicsim/nicsim-launch makes, into which enter() moves the
calling script.  A Rig leaves its log files in 'logdir' and nothing else.

Two processor cores are enough: the PMD thread owns one; the software NIC, the
guest and the rest share the other.  With four or more, each gets its own.
"""

import contextlib
import fcntl
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

# Sizes of the system that is put together.
OVS_MEMORY_MB = 1024    # Hugepage memory of ovs-vswitchd.
GUEST_MEMORY_MB = 128   # Hugepage memory of the guest.
HUGEPAGE_MB = 2
HUGEPAGES = (OVS_MEMORY_MB + GUEST_MEMORY_MB) // HUGEPAGE_MB
VIRTQUEUE_SIZE = 1024   # Descriptors of a virtqueue of the guest.

# Exit status of a script when the machine lacks something that it needs;
# Autotest takes it as "skip this test".
EXIT_LACKING = 77

# Sockets and the like go here: a tmpfs that only the namespace can see.
RUNDIR = "/run"

COUNTERS = ("gen_sent", "gen_returned", "gen_lost", "gen_outstanding",
            "corrupt", "duplicate", "foreign", "reordered", "rx_packets",
            "rx_dropped", "tx_packets", "refill_recycled", "refill_rearmed")


class RigError(Exception):
    """Something does not work as it should; the text is one sentence."""


class Lacking(RigError):
    """This machine has not got what the rig needs."""


# Moving into the namespaces.

def read_cpu_list(path, default):
    """Returns the set of processors in a file like "0-3,8", or 'default' if
    there is no such file."""
    try:
        with open(path) as f:
            ranges = [part.split("-") for part in f.read().strip().split(",")]
    except FileNotFoundError:
        return default
    return {cpu for first, *last in ranges if first
            for cpu in range(int(first), int((last or [first])[0]) + 1)}


def cpu_plan():
    """Returns a dict with the processors for "pmd", "nic", "guest" and
    "other".  They are on NUMA node 0, where the software NIC says it is, and
    as far as possible each on a core of its own.

    Raises Lacking if there are fewer than two."""
    usable = os.sched_getaffinity(0)
    usable &= read_cpu_list("/sys/devices/system/node/node0/cpulist", usable)
    usable = sorted(usable)
    cores = [cpu for cpu in usable if cpu == min(read_cpu_list(
        "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu,
        {cpu}).intersection(usable))]
    if len(cores) >= 4:
        return dict(zip(("other", "pmd", "nic", "guest"), cores))
    if len(cores) < 2:
        cores = usable
    if len(cores) < 2:
        raise Lacking("2 processor cores are needed, one of them for the PMD "
                      "thread alone, but only %d may be used" % len(cores))
    return {"pmd": cores[1], "nic": cores[0], "guest": cores[0],
            "other": cores[0]}


def hugepages():
    """Returns how many hugepages to reserve.  The kernel spreads them over
    all NUMA nodes; they are needed on one."""
    nodes = [name for name in os.listdir("/sys/devices/system/node")
             if re.fullmatch(r"node\d+", name)]
    return HUGEPAGES * max(len(nodes), 1)


def check_machine(builddir, vswitchd):
    """Raises RigError or Lacking with a sentence that names what is missing
    and how to get it."""
    if os.geteuid() != 0:
        raise Lacking("only root can reserve hugepages and make namespaces; "
                      "run this as root")
    cpu_plan()
    if not shutil.which("dpdk-testpmd"):
        raise Lacking("dpdk-testpmd, the guest, is not installed; it is in "
                      "Debian's package dpdk-dev")
    for path in [vswitchd, os.path.join(builddir, "tests/nicsim/nicsim")]:
        if not os.access(path, os.X_OK):
            raise RigError("%s is not there; build it with 'make' first"
                           % path)


def inside_namespace():
    return "NICSIM_DEVICES" in os.environ


def enter(argv, builddir, srcdir):
    """Replaces this process by 'argv' with hugepages reserved and the fake
    PCI tree in place.  Does not return.

    Only one at a time does this in 'builddir'.  The others wait; the lock is
    passed on to the program that replaces this one."""
    fd = os.open(builddir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting for another run in %s to end"
              % os.path.abspath(builddir), file=sys.stderr)
        fcntl.flock(fd, fcntl.LOCK_EX)
    os.set_inheritable(fd, True)

    nicsim = os.path.join(os.path.abspath(srcdir), "tests/nicsim")
    cmd = [os.path.join(nicsim, "with-hugepages"), str(hugepages()),
           os.path.join(nicsim, "nicsim-launch"), "--"] + argv
    sys.stdout.flush()
    os.execv(cmd[0], cmd)


def stop_on_signals():
    """Lets the first SIGINT or SIGTERM end this script in order.  The same
    signal may come twice, from the terminal and from nicsim-launch, and must
    not disturb what the first one started."""
    signals = (signal.SIGINT, signal.SIGTERM)

    def interrupt(signum, frame):
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in signals:
        signal.signal(number, interrupt)


@contextlib.contextmanager
def uninterrupted():
    """Puts off signals that would interrupt until the end."""
    pending = []
    old = [(number, signal.signal(number, lambda signum, frame:
                                  pending.append(signum)))
           for number in (signal.SIGINT, signal.SIGTERM)
           if signal.getsignal(number) != signal.SIG_IGN]
    try:
        yield
    finally:
        for number, handler in old:
            signal.signal(number, handler)
    for number in pending:
        signal.raise_signal(number)


def load_nicsimctl(srcdir):
    """Returns tests/nicsim/nicsimctl as a module."""
    path = os.path.join(srcdir, "tests/nicsim/nicsimctl")
    loader = importlib.machinery.SourceFileLoader("nicsimctl", path)
    spec = importlib.util.spec_from_loader("nicsimctl", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


# Parsing what Open vSwitch prints for humans.

def parse_pmd_stats(text):
    """Parses the output of dpif-netdev/pmd-stats-show for one PMD thread.

    Returns a dict with "packets" received, "busy" and "total" TSC cycles, and
    "tx_batch", the packets per output batch."""
    def number(pattern, default=None):
        found = re.findall(r"^  %s$" % pattern, text, re.M)
        if len(found) != 1 and default is None:
            raise RigError("dpif-netdev/pmd-stats-show does not print exactly "
                           "one line '%s'" % pattern)
        return float(found[0]) if found else default

    busy = number(r"processing cycles: (\d+) \(.*\)", 0)
    idle = number(r"idle cycles: (\d+) \(.*\)", 0)
    return {"packets": int(number(r"packets received: (\d+)")),
            "busy": int(busy), "total": int(busy + idle),
            "lost_upcalls": int(number(r"miss with failed upcall: (\d+)")),
            "tx_batch": number(r"avg\. packets per output batch: ([\d.]+)")}


def parse_mempools(text):
    """Parses the output of netdev-dpdk/get-mempool-info without arguments.

    Returns a list of (name, number of mbufs, mbufs in use)."""
    pools = []
    for section in re.split(r"^mempool <", text, flags=re.M)[1:]:
        def number(key):
            return int(re.search(r"^ +%s=(\d+)$" % key, section, re.M)[1])
        size = number("populated_size")
        free = number("common_pool_count") + number("total_cache_count")
        pools.append((section[:section.index(">")], size, size - free))
    return pools


def parse_burst_modes(log):
    """Returns how the i40e driver receives and sends according to its debug
    messages in 'log', as a pair of strings."""
    rx = re.findall(r"Using (.*Rx) \(port|(Simple Rx|Rx Burst Bulk Alloc) "
                    r"(?:path|function) *will be used", log)
    tx = re.findall(r"Using (.*Tx) \(port|(Simple|Xmit) tx finally be used",
                    log)
    names = {"Xmit": "full-featured Tx", "Simple": "simple Tx"}
    found = ["".join(modes[-1]) if modes else "unknown" for modes in (rx, tx)]
    return found[0], names.get(found[1], found[1])


# Scheduling of a thread, to tell a disturbed measurement.

def find_thread(pid, prefix):
    """Returns the id of the thread of 'pid' whose name starts with 'prefix',
    or None."""
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(FileNotFoundError):
            with open("/proc/%d/task/%s/comm" % (pid, tid)) as f:
                if f.read().startswith(prefix):
                    return int(tid)
    return None


def thread_waits(pid, tid, cpu):
    """Returns (involuntary context switches of the thread, nanoseconds it
    waited for its processor, nanoseconds the hypervisor took from 'cpu')."""
    with open("/proc/%d/task/%d/status" % (pid, tid)) as f:
        switches = int(re.search(r"nonvoluntary_ctxt_switches:\s*(\d+)",
                                 f.read())[1])
    try:
        with open("/proc/%d/task/%d/schedstat" % (pid, tid)) as f:
            waited = int(f.read().split()[1])
    except FileNotFoundError:       # Kernel without CONFIG_SCHED_INFO.
        waited = 0
    with open("/proc/stat") as f:
        ticks = re.search(r"^cpu%d ((?:\d+ ?)+)$" % cpu, f.read(), re.M)
    steal = int(ticks[1].split()[7])
    return switches, waited, steal * 10**9 // os.sysconf("SC_CLK_TCK")


def prefer_thread(pid, tid):
    """Gives the thread the highest priority that an ordinary thread can have:
    the cores of a machine for tests are hardly ever isolated."""
    os.setpriority(os.PRIO_PROCESS, tid, -20)
    with contextlib.suppress(OSError):      # Kernel without autogroups.
        with open("/proc/%d/autogroup" % pid, "w") as f:
            f.write("-20")


class Process:
    """A child process with a log file, in a process group of its own so that
    Ctrl-C reaches only the script, which then stops things in order."""

    def __init__(self, name, argv, logfile, stdin=subprocess.DEVNULL):
        self.name = name
        self.logfile = logfile
        with open(logfile, "wb") as log:
            try:
                self.popen = subprocess.Popen(argv, stdin=stdin, stdout=log,
                                              stderr=log,
                                              start_new_session=True)
            except OSError as e:
                raise RigError("%s cannot be started: %s"
                               % (argv[0], e.strerror)) from None
        self.pid = self.popen.pid

    def check(self):
        status = self.popen.poll()
        if status is not None:
            if status < 0:
                why = "was killed by signal %d" % -status
            else:
                why = "exited with status %d" % status
            raise RigError("%s %s, its last words: %s"
                           % (self.name, why, self.last_line()))

    def last_line(self):
        with open(self.logfile, errors="replace") as f:
            lines = [line.strip() for line in f if line.strip()]
        return lines[-1] if lines else "none"

    def kill(self):
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()

    def wait(self, seconds):
        """Waits for the process to end by itself, then kills it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(seconds)
        self.kill()


class Rig:
    """The whole system.  Use as a context manager: leaving it stops all."""

    def __init__(self, builddir, srcdir, logdir, vswitchd=None,
                 frame_size=64, flows=1, window=512, min_burst=32,
                 idle_sleep=40, descriptors=2048, keep_payload=False,
                 dpdk_extra=""):
        self.builddir = os.path.abspath(builddir)
        self.srcdir = os.path.abspath(srcdir)
        self.logdir = os.path.abspath(logdir)
        self.vswitchd_path = os.path.abspath(
            vswitchd or default_vswitchd(builddir))
        self.frame_size = frame_size
        self.flows = flows
        self.window = window
        self.min_burst = min_burst
        self.idle_sleep = idle_sleep
        self.descriptors = descriptors
        self.keep_payload = keep_payload
        self.dpdk_extra = dpdk_extra
        self.cpus = cpu_plan()
        self.logs = set()           # Paths of log files.
        self.nic = None             # Connection to nicsim, class NicSim.
        self.nicsim = self.ovsdb = self.vswitchd = self.guest = None
        self.pmd_tid = None
        self.port_base = {}         # Statistics of the ports at the start.
        self.guest_dropped = 0      # Frames that stopped guests dropped.

    def __enter__(self):
        os.makedirs(self.logdir, exist_ok=True)
        try:
            # It ends with the namespace.  -n: nothing to note in /run/mount.
            subprocess.run(["mount", "-n", "-t", "tmpfs", "ovs-rig", RUNDIR],
                           check=True)
            self.start_nicsim()
            self.start_ovs()
            self.start_guest()
            self.add_ports()
        except BaseException:
            self.stop(orderly=False)
            raise
        return self

    def __exit__(self, exc_type, *_):
        self.stop(orderly=exc_type is None)

    # Starting and stopping.

    def log(self, name):
        """Returns the path of a log file, which is removed if it is left of
        an earlier run."""
        path = os.path.join(self.logdir, name + ".log")
        if path not in self.logs:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            self.logs.add(path)
        return path

    def remove_logs(self):
        for path in self.logs:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        with contextlib.suppress(OSError):      # Others' files.
            os.rmdir(self.logdir)

    def start_nicsim(self):
        socket = os.path.join(RUNDIR, "nicsim.ctl")
        argv = [os.path.join(self.builddir, "tests/nicsim/nicsim"),
                "--devices", os.environ["NICSIM_DEVICES"], "--ctl", socket,
                "--cpu", str(self.cpus["nic"]), "--fifo", "10",
                "--frame-size", str(self.frame_size),
                "--flows", str(self.flows), "--window", str(self.window),
                "--min-burst", str(self.min_burst),
                "--idle-sleep", str(self.idle_sleep)]
        if self.keep_payload:
            argv.append("--keep-payload")
        self.nicsim = Process("nicsim", argv, self.log("nicsim"))
        self.wait_for("nicsim's start", lambda: os.path.exists(socket), 10)
        self.nicsimctl = load_nicsimctl(self.srcdir)
        self.nic = self.nicsimctl.NicSim(socket)

    def start_ovs(self):
        ovs = os.path.join(self.builddir, "ovs")
        os.environ.update({
            "OVS_RUNDIR": RUNDIR, "OVS_LOGDIR": self.logdir,
            "OVS_DBDIR": RUNDIR, "OVS_SYSCONFDIR": RUNDIR,
            "PATH": os.pathsep.join([os.path.join(ovs, "utilities"),
                                     os.path.join(ovs, "ovsdb"),
                                     os.environ["PATH"]])})
        self.run("ovsdb-tool", "create", RUNDIR + "/conf.db",
                 os.path.join(self.builddir,
                              "ovs-src/vswitchd/vswitch.ovsschema"))
        self.ovsdb = Process("ovsdb-server", self.pinned([
            os.path.join(ovs, "ovsdb/ovsdb-server"),
            "--remote=punix:%s/db.sock" % RUNDIR,
            "--unixctl=%s/ovsdb.ctl" % RUNDIR,
            "--log-file=" + self.log("ovsdb-server"), "-vconsole:off",
            RUNDIR + "/conf.db"]), self.log("ovsdb-server.out"))
        self.wait_for("ovsdb-server's socket",
                      lambda: os.path.exists(RUNDIR + "/db.sock"), 10)
        self.vsctl("--no-wait", "init")
        devices = os.environ["NICSIM_PCI_ADDRS"].split()
        allow = " ".join("-a " + address for address in devices)
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", *[
            "other_config:%s=%s" % (key, json.dumps(str(value)))
            for key, value in {
                "dpdk-init": "true",
                "dpdk-extra": (allow + " " + self.dpdk_extra).strip(),
                "dpdk-socket-mem": OVS_MEMORY_MB,
                "dpdk-lcore-mask": hex(1 << self.cpus["other"]),
                "pmd-cpu-mask": hex(1 << self.cpus["pmd"]),
                # Flows that stay, so that no window pays for upcalls.
                "max-idle": 3600000}.items()])
        self.vswitchd = Process("ovs-vswitchd", self.pinned([
            self.vswitchd_path, "unix:%s/db.sock" % RUNDIR,
            "--unixctl=%s/vswitchd.ctl" % RUNDIR,
            "--log-file=" + self.log("ovs-vswitchd"), "-vconsole:off"]),
            self.log("ovs-vswitchd.out"))
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0",
                   "datapath_type=netdev", "fail-mode=secure")
        if self.vsctl("get", "Open_vSwitch", ".",
                      "dpdk_initialized") != "true":
            raise RigError("ovs-vswitchd cannot initialize DPDK, see %s"
                           % self.log("ovs-vswitchd"))

    def pinned(self, argv):
        return ["taskset", "-c", str(self.cpus["other"])] + argv

    def start_guest(self):
        """Starts the guest.  Its virtio devices wait for ovs-vswitchd to
        connect, so the ports may be added before or after."""
        sockets = [vhost_socket(i) for i in range(2)]
        for path in sockets:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        # The guest tells that it forwards on its standard output.
        argv = ["stdbuf", "-oL", "dpdk-testpmd", "--lcores", "0@%d,1@%d"
                % (self.cpus["guest"], self.cpus["guest"]),
                "--no-pci", "--in-memory", "--single-file-segments",
                "--no-telemetry", "-m", str(GUEST_MEMORY_MB)]
        for i, path in enumerate(sockets):
            argv.append("--vdev=net_virtio_user%d,path=%s,server=1,queues=1,"
                        "queue_size=%d" % (i, path, VIRTQUEUE_SIZE))
        argv += ["--", "--forward-mode=macswap", "--port-topology=paired",
                 "--nb-cores=1", "--rxd=%d" % VIRTQUEUE_SIZE,
                 "--txd=%d" % VIRTQUEUE_SIZE, "--total-num-mbufs=16384"]
        self.guest = Process("dpdk-testpmd", argv, self.log("guest"),
                             stdin=subprocess.PIPE)
        self.wait_for("the guest's first socket",
                      lambda: os.path.exists(sockets[0]), 20)

    def add_ports(self):
        """Adds the four ports and the flows between them, and waits until
        every link is up."""
        # The driver tells only in debug messages which of its Rx and Tx
        # functions it takes.
        self.appctl("dpdk/log-set", "pmd.net.i40e.init:debug")
        self.appctl("vlog/set", "dpdk:file:dbg")
        args = []
        devices = os.environ["NICSIM_PCI_ADDRS"].split()
        for i in range(2):
            args += ["--", "add-port", "br0", "dpdk%d" % i,
                     "--", "set", "Interface", "dpdk%d" % i, "type=dpdk",
                     "options:dpdk-devargs=" + json.dumps(devices[i]),
                     "options:n_rxq_desc=%d" % self.descriptors,
                     "options:n_txq_desc=%d" % self.descriptors,
                     "ofport_request=%d" % (1 + i),
                     "--", "add-port", "br0", "vhost%d" % i,
                     "--", "set", "Interface", "vhost%d" % i,
                     "type=dpdkvhostuserclient",
                     "options:vhost-server-path=" + vhost_socket(i),
                     "ofport_request=%d" % (11 + i)]
        self.vsctl(*args[1:])
        for port in self.ports():
            error = self.vsctl("get", "Interface", port, "error")
            if error != "[]":
                raise RigError("port %s cannot be added: %s" % (port, error))
        for a, b in [(1, 11), (11, 1), (2, 12), (12, 2)]:
            self.run("ovs-ofctl", "add-flow", "br0",
                     "in_port=%d,actions=output:%d" % (a, b))
        self.appctl("vlog/set", "dpdk:file:info")
        self.appctl("dpdk/log-set", "pmd.net.i40e.init:notice")
        self.wait_for_guest()
        self.wait_for_path()
        self.pmd_tid = find_thread(self.vswitchd.pid,
                                   "pmd-c%02d" % self.cpus["pmd"])
        if self.pmd_tid is None:
            raise RigError("ovs-vswitchd has no PMD thread on core %d"
                           % self.cpus["pmd"])
        prefer_thread(self.vswitchd.pid, self.pmd_tid)

    @staticmethod
    def ports():
        return ["dpdk0", "dpdk1", "vhost0", "vhost1"]

    def wait_for_guest(self):
        """Waits until the guest forwards and Open vSwitch has noticed."""
        def forwards():
            with open(self.guest.logfile, errors="replace") as f:
                return "Press enter to exit" in f.read()

        def links_up():
            up = self.vsctl("--bare", "--columns=name", "find", "Interface",
                            "link_state=up").split()
            return all(port in up for port in self.ports())

        self.wait_for("the guest's start", forwards, 30)
        self.wait_for("the links of all ports to come up", links_up, 20)

    def wait_for_path(self):
        """Sends a few packets again and again until all of them come back,
        then clears the counters: whatever got lost while the system came up
        is none of its concern."""
        def passes():
            self.tell_nic("clear")
            self.start_traffic("count", 32)
            self.drain(200)
            total = self.nic_stats()["total"]
            return 0 < total["gen_sent"] == total["gen_returned"]

        self.wait_for("the first packets' return", passes, 20)
        self.tell_nic("clear")
        self.clear_pmd_stats()
        self.port_base = {port: self.port_stats(port)
                          for port in self.ports()}

    def delete_ports(self):
        args = []
        for port in self.ports():
            args += ["--", "del-port", "br0", port]
        self.vsctl(*args[1:])

    def kill_guest(self):
        """Ends the guest without any warning."""
        self.guest.kill()
        self.guest = None

    def stop_guest(self):
        """Ends the guest in order, and books the frames that it dropped."""
        self.guest.check()
        with contextlib.suppress(BrokenPipeError):
            self.guest.popen.stdin.write(b"\n")
            self.guest.popen.stdin.close()
        self.guest.wait(10)
        with open(self.guest.logfile, errors="replace") as f:
            found = re.findall(r"\+ Accumulated .*?RX-dropped: (\d+).*?"
                               r"TX-dropped: (\d+)", f.read(), re.S)
        if not found:
            raise RigError("dpdk-testpmd printed no statistics at its end, "
                           "see %s" % self.guest.logfile)
        self.guest_dropped += sum(map(int, found[-1]))
        self.guest = None

    def stop(self, orderly):
        """Stops whatever runs.  Gives the processes time to end by themselves
        if 'orderly'."""
        with uninterrupted():
            if orderly:
                with contextlib.suppress(RigError):
                    self.appctl("exit", "--cleanup")
                    self.vswitchd.wait(10)
                with contextlib.suppress(Exception):
                    self.nic.cmd("quit")
                    self.nicsim.wait(5)
            for process in (self.guest, self.vswitchd, self.ovsdb,
                            self.nicsim):
                if process:
                    process.kill()
            self.guest = self.vswitchd = self.ovsdb = self.nicsim = None
            self.nic = None

    # Talking to Open vSwitch and the NIC.

    def check(self):
        """Raises RigError if a process has gone."""
        for process in (self.nicsim, self.ovsdb, self.vswitchd, self.guest):
            if process:
                process.check()

    def run(self, *argv):
        """Runs a short command and returns what it prints.  Gives up when
        one of the processes it may be waiting for ends."""
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True) as command:
            try:
                while True:
                    try:
                        out, err = command.communicate(timeout=0.5)
                        break
                    except subprocess.TimeoutExpired:
                        self.check()
            except BaseException:
                command.kill()
                raise
        if command.returncode:
            self.check()
            words = err.strip().splitlines()
            raise RigError("'%s' failed: %s" % (
                " ".join(argv), words[-1] if words else "status %d"
                % command.returncode))
        return out.strip()

    def vsctl(self, *args):
        return self.run("ovs-vsctl", "--timeout=30",
                        "--db=unix:%s/db.sock" % RUNDIR, *args)

    def appctl(self, *args):
        return self.run("ovs-appctl", "--timeout=30",
                        "-t", RUNDIR + "/vswitchd.ctl", *args)

    def wait_for(self, what, condition, seconds):
        """Waits until 'condition()' is true, or raises RigError."""
        end = time.monotonic() + seconds
        while not condition():
            self.check()
            if time.monotonic() > end:
                raise RigError("%s did not happen within %d s"
                               % (what, seconds))
            time.sleep(0.02)

    def recycle_show(self):
        """Returns the output of pmd-mbuf-recycle-show as a dict."""
        return json.loads(self.appctl("--format", "json",
                                      "dpif-netdev/pmd-mbuf-recycle-show"))

    def set_recycle(self, enable):
        """Turns recycling on or off and waits until the PMD threads have done
        so for each of their Rx queues."""
        def done():
            show = self.recycle_show()
            return show["enabled"] == enable and all(
                (rxq["reason"] == "pmd-mbuf-recycle is off") != enable
                for pmd in show["pmds"] for rxq in pmd["rxqs"])

        self.vsctl("set", "Open_vSwitch", ".",
                   "other_config:pmd-mbuf-recycle=%s"
                   % ("true" if enable else "false"))
        self.wait_for("turning recycling " + ("on" if enable else "off"),
                      done, 10)

    def clear_pmd_stats(self):
        self.appctl("dpif-netdev/pmd-stats-clear")

    def pmd_stats(self):
        return parse_pmd_stats(self.appctl("dpif-netdev/pmd-stats-show",
                                           "-pmd", str(self.cpus["pmd"])))

    def pmd_waits(self):
        return thread_waits(self.vswitchd.pid, self.pmd_tid, self.cpus["pmd"])

    def tell_nic(self, line):
        """Has nicsim execute command 'line' and returns its reply."""
        try:
            return self.nic.cmd(line)
        except self.nicsimctl.NicSimError as e:
            self.check()
            raise RigError(str(e)) from None

    def nic_stats(self):
        """Returns nicsim's statistics, with "total", the sums over ports."""
        stats = self.tell_nic("stats")
        stats["total"] = {key: sum(port[key] for port in stats["ports"])
                          for key in COUNTERS}
        return stats

    def port_stats(self, port):
        """Returns the live statistics of a port of Open vSwitch as a dict
        with "rx_packets", "rx_dropped", "tx_packets", "tx_dropped" ..."""
        text = self.appctl("dpctl/show", "-s", "netdev@ovs-netdev")
        section = re.search(r"^  port \d+: %s .*\n((?:    .*\n?)*)" % port,
                            text, re.M)
        if not section:
            raise RigError("dpctl/show knows no port %s" % port)
        stats = {}
        for way in ("RX", "TX"):
            line = re.search(r"%s packets:(\S+) errors:(\S+) dropped:(\S+)"
                             % way, section[1])
            for key, value in zip(("packets", "errors", "dropped"),
                                  line.groups()):
                stats["%s_%s" % (way.lower(), key)] = (
                    0 if value == "?" else int(value))
        return stats

    def burst_modes(self):
        """Returns the names of the driver's Rx and Tx functions."""
        with open(self.log("ovs-vswitchd"), errors="replace") as f:
            return parse_burst_modes(f.read())

    def mbufs_in_use(self):
        """Returns the number of mbufs that are not in their mempool."""
        pools = parse_mempools(self.appctl("netdev-dpdk/get-mempool-info"))
        return sum(used for _, _, used in pools)

    def start_traffic(self, *args):
        """'args' are those of nicsim's "start" after the port."""
        self.tell_nic(" ".join(["start", "all"] + [str(a) for a in args]))

    def drain(self, milliseconds=2000):
        """Stops the generators and waits for the frames on their way, also
        for those that nicsim has given up already."""
        end = time.monotonic() + milliseconds / 1000
        self.tell_nic("drain %d" % milliseconds)
        while time.monotonic() < end:
            total = self.nic_stats()["total"]
            if total["gen_returned"] == total["gen_sent"]:
                break
            time.sleep(0.02)


def default_vswitchd(builddir):
    return os.path.join(builddir, "ovs/vswitchd/ovs-vswitchd")


def vhost_socket(i):
    return "%s/vhost%d.sock" % (RUNDIR, i)
