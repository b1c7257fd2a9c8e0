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

"""The rules of this repository's semantic patches."""

import os
import re

from graft_common import GraftError, read_text, take_conditions

IDENTIFIER_RE = re.compile(r"[A-Za-z_]\w*")
COMMENT_OR_STRING_RE = re.compile(
    r"""/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""",
    re.S)


def blank_out(text):
    """Returns 'text' with blanks for what is within comments and strings."""
    return COMMENT_OR_STRING_RE.sub(lambda m: " " * len(m.group()), text)


class Block:
    """Consecutive + lines of a rule, the unit that is counted.

    spatch gets a mark for it, to find the place of the text and how often it
    goes there.  The mark is, by 'kind',

      - "comment": a comment.  The text comes out as it stands in the rule.

      - "call": a function call whose arguments are the metavariables that the
        text uses.  The text comes out as it stands in the rule, with what the
        metavariables stand for.  For statements only.

      - "text": a comment, followed by the text.  The text comes out as spatch
        formats it."""

    def __init__(self, rule, first, end, names):
        """Of the lines from 'first' to before 'end' of 'rule', which has the
        metavariables 'names'."""
        before = rule.body[first - 1] if first else ""
        after = rule.body[end] if end < len(rule.body) else ""

        self.rule = rule
        self.line = rule.line + len(rule.head) + first
        # Without the +.
        self.lines = [s[1:].expandtabs(8).rstrip()
                      for s in rule.body[first:end]]
        self.replaces = before.startswith("-") or after.startswith("-")
        self.follows_blank = first > 0 and not before.strip()

        text = "\n".join(self.lines)
        if not text.strip():
            raise GraftError("%s adds nothing but blank lines" % self.where())
        code = COMMENT_OR_STRING_RE.sub(" ", text)
        self.indent = (len(text.lstrip("\n"))
                       - len(text.lstrip("\n").lstrip()))
        self.names = sorted(set(IDENTIFIER_RE.findall(code)) & names)
        if (self.names and not self.indent and not self.replaces
                and "{" not in self.lines):
            raise GraftError("%s: text at column 0 is inserted as it stands, "
                             "but uses the metavariable '%s'; indent it if it "
                             "is a statement" % (self.where(), self.names[0]))
        if code.count("{") != code.count("}"):
            self.kind = "text"
        elif not self.replaces and (not self.indent or not self.names):
            self.kind = "comment"
        elif (self.indent and code.rstrip().endswith((";", "}"))
              and self._is_in_function(rule.body[:first])):
            self.kind = "call"
        else:
            self.kind = "text"

    @staticmethod
    def _is_in_function(lines):
        """Returns true unless code that follows 'lines' of a rule is within a
        type's definition or an initializer."""
        text = COMMENT_OR_STRING_RE.sub(" ", "\n".join(
            s[1:] for s in lines if s[:1] != "+"))
        depth = 0
        for at in range(len(text) - 1, -1, -1):
            depth += (text[at] == "}") - (text[at] == "{")
            if depth < 0:
                return not re.search(
                    r"(?:\b(?:struct|union|enum)\s+\w+|=)\s*$", text[:at])
        return True

    def where(self):
        return self.rule.where(self.line)

    def marked(self, number):
        """Returns the + lines that spatch gets for the block, with the mark
        'number'."""
        start = "+" + " " * self.indent
        if self.kind == "call":
            return ["%sgraft_mark_%d(%s);" % (start, number,
                                              ", ".join(self.names))]
        lines = ["%s/* graft_mark_%d */" % (start, number)]
        if self.kind == "text":
            text = "\n".join(self.lines).lstrip("\n")
            lines += ["+" + line for line in text.split("\n")]
        return lines

    def expanded(self, values, indent):
        """Returns the lines of the text, where 'values' are what 'names' stand
        for, indented by 'indent' columns more than in the rule."""
        def value_at(m):
            value = values.get(m.group())
            if value is None:
                return m.group()
            if (re.match(r"[\w.]+(?:->|[\w.]|\([^()]*\)|\[[^][]*\])*$", value)
                    or (re.search(r"(?:^|[(,;=])\s*$", code[:m.start()])
                        and re.match(r"\s*[),;]", code[m.end():]))):
                return value
            return "(%s)" % value

        text = "\n".join(self.lines)
        code = blank_out(text)
        parts = []
        end = 0
        for m in IDENTIFIER_RE.finditer(code):
            parts += [text[end:m.start()], value_at(m)]
            end = m.end()
        parts.append(text[end:])

        lines = []
        for line in "".join(parts).split("\n"):
            if line and not line.startswith("#"):
                if indent >= 0:
                    line = " " * indent + line
                else:
                    line = line[min(-indent, len(line) - len(line.lstrip())):]
            lines.append(line)
        return lines


class Rule:
    """A rule of a semantic patch."""

    def __init__(self, source, line, target, count, name, is_active):
        self.source = source        # The .cocci file.
        self.line = line            # Number of the rule's first line.
        self.target = target        # The Open vSwitch file.
        self.count = count          # How often it is to apply.
        self.name = name
        self.is_active = is_active  # For this version of Open vSwitch?
        self.head = []              # From @name@ to @@.
        self.body = []

    def where(self, line=None):
        return "%s:%d: rule '%s'" % (self.source, line or self.line, self.name)

    def metavariables(self):
        names = set()
        for declaration in "\n".join(self.head[1:-1]).split(";"):
            words = declaration.split()
            if words[:1] in (["typedef"], ["symbol"]) or "name" in words[:2]:
                continue
            for declarator in declaration.split(","):
                found = IDENTIFIER_RE.findall(
                    re.split(r"[=!]", declarator, maxsplit=1)[0])
                names.update(found[-1:])
        return names

    def blocks(self):
        """Returns the blocks of + lines, as (first, end, Block) with indexes
        into 'body'."""
        names = self.metavariables()
        found = []
        i = 0
        while i < len(self.body):
            first = i
            while i < len(self.body) and self.body[i].startswith("+"):
                i += 1
            if i == first:
                i += 1
                continue

            found.append((first, i, Block(self, first, i, names)))
        return found


HEADER_RE = re.compile(r"//\s*graft:\s*(.*?)\s*$")
RULE_RE = re.compile(r"@([^@]*)@\s*$")


def parse_rules(top, source, version):
    """Returns the rules of the semantic patch 'source' in the repository
    'top'."""
    rules = []
    names = set()
    rule = None
    header = None
    lines = read_text(os.path.join(top, source)).rstrip("\n").split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        where = "%s:%d" % (source, i + 1)
        i += 1

        m = HEADER_RE.match(line)
        if m:
            if header:
                raise GraftError("%s: the graft: line above has no rule"
                                 % where)
            words, is_active = take_conditions(m.group(1).split(), version)
            if len(words) != 2:
                raise GraftError("%s: a rule's header is '// graft: FILE "
                                 "COUNT', not '%s'" % (where, line.strip()))
            if not re.match(r"[1-9]\d*$", words[1]):
                raise GraftError("%s: count '%s' is not a positive number"
                                 % (where, words[1]))
            header = (words[0], int(words[1]), is_active)
            rule = None
            continue

        m = RULE_RE.match(line)
        if m:
            words = m.group(1).split()
            if not words:
                raise GraftError("%s: rule has no name, write @NAME@" % where)
            if not header:
                raise GraftError("%s: rule '%s' has no '// graft: FILE COUNT' "
                                 "line directly above it" % (where, words[0]))
            name = words[0]
            if not re.match(r"[A-Za-z_]\w*$", name):
                raise GraftError("%s: '%s' cannot be a rule's name"
                                 % (where, name))
            if name in names:
                raise GraftError("%s: there is a rule '%s' above already"
                                 % (where, name))
            names.add(name)
            rule = Rule(source, i, header[0], header[1], name, header[2])
            header = None
            rules.append(rule)
            rule.head.append(line)
            while i < len(lines) and lines[i].strip() != "@@":
                if lines[i].startswith("@"):
                    break
                rule.head.append(lines[i])
                i += 1
            if i == len(lines) or lines[i].strip() != "@@":
                raise GraftError("%s: the declarations of rule '%s' do not "
                                 "end with a line @@" % (where, name))
            rule.head.append(lines[i])
            i += 1
        elif header:
            raise GraftError("%s: a graft: line is to stand directly above "
                             "its rule's @NAME@ line" % where)
        elif rule:
            rule.body.append(line)
        elif line.strip() and not line.startswith("//"):
            raise GraftError("%s: '%s' belongs to no rule"
                             % (where, line.strip()))
    if header:
        raise GraftError("%s:%d: the graft: line has no rule"
                         % (source, len(lines)))

    for rule in rules:
        if not rule.blocks():
            raise GraftError("%s has no + line, so it cannot be counted"
                             % rule.where())
    return rules
