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

"""The trees that graft reads and writes."""

import fnmatch
import json
import os
import re
import stat

from graft_common import GraftError, read_text, sha256

# Files that Open vSwitch's boot.sh and make write into its source tree.  A
# source package may hold a stale copy of them.  They are not copied, and those
# in the output belong to whoever made them there.
GENERATED = (
    "Makefile.in", "aclocal.m4", "config.h.in", "configure", "configure~",
    "package.m4", "autom4te.cache/*",
    "build-aux/ar-lib", "build-aux/compile", "build-aux/config.guess",
    "build-aux/config.sub", "build-aux/depcomp", "build-aux/install-sh",
    "build-aux/ltmain.sh", "build-aux/missing", "build-aux/test-driver",
    "debian/copyright", "m4/libtool.m4", "m4/lt*.m4",
    "python/ovs/dirs.py", "python/ovs/flow/ofp_fields.py",
    "python/ovs/version.py", "python/setup.py",
    "rhel/openvswitch.spec", "rhel/openvswitch-fedora.spec",
    "tests/*testsuite",
)

# Directories of a source tree that are no part of the source.
NOT_SOURCE = (".git", ".graft", "__pycache__")

STATE_DIR = ".graft"            # Of an output, with what graft remembers.


def is_generated(path):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in GENERATED)


def walk(top):
    """Yields the paths of the files below 'top', relative to it."""
    for directory, dirs, files in os.walk(top):
        dirs[:] = sorted(d for d in dirs if d not in NOT_SOURCE)
        links = [d for d in dirs
                 if os.path.islink(os.path.join(directory, d))]
        for name in sorted(files + links):
            yield os.path.relpath(os.path.join(directory, name), top)


class OvsTree:
    """A pristine Open vSwitch source tree."""

    def __init__(self, top):
        self.top = top
        configure_ac = os.path.join(top, "configure.ac")
        if not os.path.isfile(configure_ac):
            raise GraftError("%s: is no Open vSwitch source tree, it has no "
                             "configure.ac" % top)
        m = re.search(r"^AC_INIT\(\s*\[?openvswitch\]?\s*,"
                      r"\s*\[?(\d+(?:\.\d+)+)",
                      read_text(configure_ac), re.M)
        if not m:
            raise GraftError("%s: is not Open vSwitch's configure.ac, it has "
                             "no AC_INIT(openvswitch, VERSION...)"
                             % configure_ac)
        if os.path.isdir(os.path.join(top, STATE_DIR)):
            raise GraftError("%s: is a grafted tree, not a pristine one" % top)
        self.version = m.group(1)
        self.files = {p for p in walk(top) if not is_generated(p)}
        for path in sorted(self.files):
            if os.path.basename(path) == "config.status":
                raise GraftError("%s: is not pristine, it holds a build "
                                 "directory with %s" % (top, path))

    def text(self, path):
        return read_text(os.path.join(self.top, path))

    def mode(self, path):
        """Returns the permissions of 'path' in an output."""
        st = os.stat(os.path.join(self.top, path))
        return stat.S_IMODE(st.st_mode) | stat.S_IWUSR


class Cache:
    """Results of earlier runs of spatch, as files named by the hash of all
    that makes the result."""

    def __init__(self, directory):
        self.directory = directory
        self.used = {}          # Results to keep, None if in a file already.

    def get(self, key):
        try:
            with open(os.path.join(self.directory, key), encoding="utf-8",
                      newline="") as f:
                text = f.read()
        except OSError:
            return None
        self.used[key] = None
        return text

    def put(self, key, text):
        self.used[key] = text

    def save(self, is_complete=True):
        """Writes the results of this run.  If it 'is_complete', forgets those
        not used."""
        os.makedirs(self.directory, exist_ok=True)
        for key, text in self.used.items():
            if text is not None:
                write_file(os.path.join(self.directory, key), text.encode(),
                           0o644)
        for key in os.listdir(self.directory) if is_complete else ():
            if key not in self.used:
                os.unlink(os.path.join(self.directory, key))


def write_file(path, data, mode):
    """Replaces 'path' at once, so that a run that is cut off leaves no half
    of a file."""
    tmp = path + ".graft-tmp"
    with open(tmp, "wb") as f:
        f.write(data)
    os.chmod(tmp, mode)
    os.replace(tmp, path)


class Output:
    """The grafted tree."""

    def __init__(self, top):
        self.top = top
        self.state_path = os.path.join(top, STATE_DIR, "state.json")
        # Path -> [signature of the source, signature of the output].
        self.state = {}
        try:
            with open(self.state_path, encoding="utf-8") as f:
                self.state = json.load(f)
        except FileNotFoundError:
            if os.path.isdir(top) and os.listdir(top):
                raise GraftError("%s: is not empty, and no output of graft"
                                 % top)
        except ValueError:
            raise GraftError("%s: is damaged; remove %s and start anew"
                             % (self.state_path, top))
        self.cache = Cache(os.path.join(top, STATE_DIR, "cache"))

    def write(self, ovs, grafted):
        """Makes the output a copy of 'ovs' with the files in 'grafted' added
        or replaced.  Writes what differs only.  Returns the paths of the
        files written and of those removed."""
        paths = sorted(ovs.files.union(grafted))
        os.makedirs(os.path.join(self.top, STATE_DIR), exist_ok=True)
        new_state = {}
        todo = []
        for path in paths:
            if self._is_current(ovs, grafted, path, new_state):
                continue
            todo.append(path)

        removed = sorted(set(self.state).difference(paths))
        if not todo and not removed and new_state == self.state:
            return [], []
        # First what we are about to write, so that a run that is cut off
        # leaves no file that nobody removes later.
        self._save(dict(self.state, **{path: None for path in todo}))
        written = [path for path in todo
                   if self._write_one(ovs, grafted, path, new_state)]
        for path in removed:
            self._remove(path)
        self._save(new_state)
        return written, removed

    @staticmethod
    def _signature(path):
        try:
            st = os.lstat(path)
        except OSError:
            return None
        return [st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino,
                st.st_mode]

    def _is_current(self, ovs, grafted, path, new_state):
        if path in grafted:
            source = [sha256(grafted[path][0]), grafted[path][1]]
        else:
            source = self._signature(os.path.join(ovs.top, path))
        output = self._signature(os.path.join(self.top, path))
        new_state[path] = [source, output]
        return output is not None and self.state.get(path) == new_state[path]

    def _write_one(self, ovs, grafted, path, new_state):
        """Writes 'path' unless its content is right.  Returns whether it
        wrote."""
        source = os.path.join(ovs.top, path)
        output = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(output), exist_ok=True)
        if os.path.isdir(output) and not os.path.islink(output):
            raise GraftError("%s: is a directory, but a file is to be written"
                             % output)
        wrote = False
        if path not in grafted and os.path.islink(source):
            link = os.readlink(source)
            if not os.path.islink(output) or os.readlink(output) != link:
                if os.path.lexists(output):
                    os.unlink(output)
                os.symlink(link, output)
                wrote = True
        else:
            if path in grafted:
                data, mode = grafted[path]
            else:
                mode = ovs.mode(path)
                with open(source, "rb") as f:
                    data = f.read()
            if not self._holds(output, data, mode):
                if os.path.islink(output):
                    os.unlink(output)
                write_file(output, data, mode)
                wrote = True
        new_state[path][1] = self._signature(output)
        return wrote

    @staticmethod
    def _holds(path, data, mode):
        try:
            st = os.lstat(path)
            if not stat.S_ISREG(st.st_mode) or st.st_size != len(data):
                return False
            if stat.S_IMODE(st.st_mode) != mode:
                return False
            with open(path, "rb") as f:
                return f.read() == data
        except OSError:
            return False

    def _remove(self, path):
        output = os.path.join(self.top, path)
        if os.path.lexists(output):
            os.unlink(output)
        directory = os.path.dirname(path)
        while directory and not os.listdir(os.path.join(self.top, directory)):
            os.rmdir(os.path.join(self.top, directory))
            directory = os.path.dirname(directory)

    def _save(self, state):
        write_file(self.state_path, json.dumps(state).encode(), 0o644)
