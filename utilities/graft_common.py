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

"""What the parts of graft share."""

import hashlib
import re


class GraftError(Exception):
    """An error that the user is to read, one line for each thing wrong."""


def read_text(path):
    try:
        with open(path, encoding="utf-8", newline="") as f:
            return f.read()
    except OSError as e:
        raise GraftError("%s: cannot read: %s" % (path, e.strerror))
    except UnicodeDecodeError:
        raise GraftError("%s: is not UTF-8 text" % path)


def sha256(*parts):
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


CONDITION_RE = re.compile(r"ovs(>=|<)(\d+(?:\.\d+)*)$")


def version_key(version):
    return [int(part) for part in version.split(".")]


def take_conditions(words, version):
    """Splits trailing version conditions, such as 'ovs>=4.0', from 'words'.
    Returns the other words and whether 'version' meets all conditions."""
    met = True
    while words:
        m = CONDITION_RE.match(words[-1])
        if not m:
            break
        is_newer = version_key(version) >= version_key(m.group(2))
        met = met and is_newer == (m.group(1) == ">=")
        words = words[:-1]
    return words, met
