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

"""Text of this repository that is merged into files of Open vSwitch."""

import fnmatch
import re
import xml.etree.ElementTree

from graft_common import GraftError, take_conditions

# What fragments are called, and which of them go to the end of their file if
# they do not say otherwise.
FRAGMENT_SUFFIXES = (".man", ".mk", ".rst", ".xml", "/testsuite.at")
APPENDED = ("*/automake.mk", "*/testsuite.at", "*.man")

DIRECTIVE_RE = re.compile(
    r'\s*(?:#|dnl|//|/\*|<!--|\.\\"|\.\.)\s*graft:\s*(.*?)\s*(?:-->|\*/)?\s*$')


def has_directive(text):
    """Returns true if there is a graft: line in 'text'."""
    return any(DIRECTIVE_RE.match(line) for line in text.split("\n"))


class Fragment:
    """Text that goes into an Open vSwitch file of the same name."""

    def __init__(self, path, text, version):
        self.path = path
        self.pieces = []        # Of (where, place, anchors, lines).
        lines = None
        if not has_directive(text):
            if not any(fnmatch.fnmatchcase(path, p) for p in APPENDED):
                raise GraftError("%s: has the name of an Open vSwitch file "
                                 "but no graft: line that says where its text "
                                 "goes" % path)
            self.pieces.append((path, "append", [], text.split("\n")))
            return
        for number, line in enumerate(text.split("\n"), 1):
            m = DIRECTIVE_RE.match(line)
            if not m:
                if lines is not None:
                    lines.append(line)
                continue

            where = "%s:%d" % (path, number)
            words, is_active = take_conditions(m.group(1).split(), version)
            place = words[0] if words else ""
            anchors = [s.strip() for s in " ".join(words[1:]).split("...")]
            if place == "append" and len(words) == 1:
                anchors = []
            elif place not in ("after", "before") or not all(anchors):
                raise GraftError("%s: a graft: line is 'append', 'after "
                                 "ANCHOR' or 'before ANCHOR', not '%s'"
                                 % (where, m.group(1)))
            lines = []
            if is_active:
                self.pieces.append((where, place, anchors, lines))

    def apply(self, text):
        """Returns 'text', which is of the Open vSwitch file, with the pieces
        merged in."""
        old = text.split("\n")
        if old[-1] == "":
            del old[-1]
        inserts = []
        for where, place, anchors, lines in self.pieces:
            new = list(lines)
            while new and not new[-1].strip():
                del new[-1]
            if not new:
                raise GraftError("%s: no text follows the graft: line" % where)
            at = self._find(old, where, place, anchors)
            inserts.append((at, new))
        for at, new in reversed(sorted(inserts, key=lambda x: x[0])):
            old[at:at] = new
        result = "\n".join(old) + "\n"
        if self.path.endswith(".xml"):
            try:
                xml.etree.ElementTree.fromstring(result)
            except xml.etree.ElementTree.ParseError as e:
                raise GraftError("%s: what it makes of Open vSwitch's file is "
                                 "not well-formed XML: %s" % (self.path, e))
        return result

    def _find(self, old, where, place, anchors):
        if place == "append":
            return len(old)
        found = [i for i, line in enumerate(old)
                 if anchors[0] in " ".join(line.split())]
        if len(found) != 1:
            raise GraftError("%s: anchor '%s' is on %d lines of Open "
                             "vSwitch's %s, expected 1"
                             % (where, anchors[0], len(found), self.path))
        at = found[0]
        for anchor in anchors[1:]:
            at += 1
            while at < len(old) and anchor not in " ".join(old[at].split()):
                at += 1
            if at == len(old):
                raise GraftError("%s: anchor '%s' is on no line after '%s' of "
                                 "Open vSwitch's %s"
                                 % (where, anchor, anchors[0], self.path))
        return at + 1 if place == "after" else at
