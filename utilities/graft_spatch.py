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

"""The application of rules by Coccinelle's spatch."""

import bisect
import json
import os
import re
import shutil
import subprocess
import tempfile

import graft_rules
from graft_common import GraftError, read_text, sha256
from graft_rules import COMMENT_OR_STRING_RE, blank_out

MAX_COLUMNS = 79

MARK_RE = re.compile(r"/\* graft_mark_(\d+)(?::(\d+))? \*/")
CALL_RE = re.compile(r"\bgraft_mark_(\d+)\(")


class Program:
    """The semantic patch that is given to spatch for some rules."""

    def __init__(self, rules):
        self.rules = rules
        self.blocks = []        # The index is the number of the mark.
        self.lines = []
        self.starts = []        # First line of each rule, in 'lines'.
        for rule in rules:
            self.starts.append(len(self.lines))
            self.lines += self._head(rule)
            end = 0
            for first, after, block in rule.blocks():
                self.lines += rule.body[end:first]
                self.lines += block.marked(len(self.blocks))
                self.blocks.append(block)
                end = after
            self.lines += rule.body[end:]

    @staticmethod
    def _head(rule):
        """Returns the head of 'rule'.  spatch takes text before a function for
        a change of the function's header, and would make it at the prototype
        too, unless told otherwise."""
        first = rule.head[0]
        if any(block.kind == "comment" and not block.indent
               for _, _, block in rule.blocks()):
            if re.search(r"\bdisable\b", first):
                first = re.sub(r"\bdisable\b", "disable prototypes,", first)
            else:
                first = re.sub(r"(\s+(?:exists|forall|expression))*\s*@\s*$",
                               r" disable prototypes\g<0>", first)
        return [first] + rule.head[1:]

    def text(self):
        return "\n".join(self.lines) + "\n"

    def rule_at(self, line):
        """Returns the rule on line number 'line' of text()."""
        return self.rules[max(bisect.bisect(self.starts, line - 1) - 1, 0)]

    def check_counts(self, marked):
        """Returns what is wrong with the counts of 'marked', the text that
        spatch made, as a list of (rule, sentence)."""
        counts = [0] * len(self.blocks)
        for mark_re in MARK_RE, CALL_RE:
            for m in mark_re.finditer(marked):
                counts[int(m.group(1))] += 1
        wrong = {}
        for block, count in zip(self.blocks, counts):
            rule = block.rule
            if count != rule.count and rule not in wrong:
                wrong[rule] = ("%s: applied %d time%s to %s, expected %d"
                               % (block.where(), count,
                                  "" if count == 1 else "s", rule.target,
                                  rule.count))
        return list(wrong.items())

    def expand(self, marked, pristine):
        """Returns 'marked' with the marks replaced by what they stand for, in
        Open vSwitch's style.  'pristine' is the text that spatch started
        from."""
        known = set(pristine.split("\n"))
        marked, values = self._take_calls(self._drop_counters(marked))
        out = []
        after_block = False     # Does the text of a block end 'out'?
        for line in marked.split("\n"):
            m = MARK_RE.search(line)
            if not m:
                if line not in known:
                    line = line.expandtabs(8).rstrip()
                if line or not after_block or out[-1]:
                    out.append(line)
                after_block = False
                continue

            line = line.expandtabs(8)
            block = self.blocks[int(m.group(1))]
            if MARK_RE.sub("", line).strip():
                raise GraftError("%s: its place in %s is within a line; write "
                                 "that line as - and +"
                                 % (block.where(), block.rule.target))
            indent = line.index("/*")
            if indent and ends_in_header(out):
                raise GraftError("%s: its place in %s is after an if, for or "
                                 "while without braces"
                                 % (block.where(), block.rule.target))
            self._insert(out, block, block.expanded(
                values[int(m.group(2))] if m.group(2) else {},
                indent - block.indent))
            after_block = True
        return "\n".join(out)

    def _drop_counters(self, marked):
        """Returns 'marked' without the marks that only count."""
        for number, block in enumerate(self.blocks):
            if block.kind == "text":
                mark = r"/\* graft_mark_%d \*/" % number
                marked = re.sub(r"(?m)^[ \t]*%s[ \t]*\n" % mark, "", marked)
                # spatch breaks the line after a comment within an expression.
                marked = re.sub(r"([^\s;{}])[ \t]+%s\s*" % mark, r"\1 ",
                                marked)
                marked = re.sub(r"%s[ \t]*" % mark, "", marked)
        return marked

    def _take_calls(self, marked):
        """Returns 'marked' with the calls that are marks replaced by comments,
        and the values of the metavariables in each call."""
        code = blank_out(marked)
        parts = []
        values = []
        end = 0
        for m in CALL_RE.finditer(marked):
            args = []
            depth = 1
            at = start = m.end()
            while depth:
                depth += (code[at] in "([{") - (code[at] in ")]}")
                if not depth or code[at] == "," and depth == 1:
                    args.append(" ".join(marked[start:at].split()))
                    start = at + 1
                at += 1
            at = code.index(";", at) + 1
            parts += [marked[end:m.start()], "/* graft_mark_%s:%d */"
                      % (m.group(1), len(values))]
            values.append(dict(zip(self.blocks[int(m.group(1))].names, args)))
            end = at
        parts.append(marked[end:])
        return "".join(parts), values

    @staticmethod
    def _insert(out, block, lines):
        """Appends 'lines', the text of 'block', to 'out', but above a comment
        that ends 'out': it belongs to what follows."""
        at = len(out)
        if at and out[at - 1].endswith("*/") and not block.replaces:
            start = at - 1
            while start > 0 and "/*" not in out[start]:
                start -= 1
            if out[start].lstrip().startswith("/*"):
                at = start
        if at and not out[at - 1] and not lines[0]:
            del lines[0]
        elif block.follows_blank and at and out[at - 1] and lines[0]:
            lines.insert(0, "")
        out[at:at] = lines


def ends_in_header(lines):
    """Returns true if the code in 'lines' ends in the header of a statement
    without a brace, so that the next statement is its body."""
    text = COMMENT_OR_STRING_RE.sub("", "\n".join(lines[-20:])).rstrip()
    if re.search(r"\belse$", text):
        return True
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if not depth:
            break
    return (text.endswith(")") and not depth
            and re.search(r"(?:\b(?:if|for|while|switch)|_FOR_EACH\w*)\s*$",
                          text[:at]) is not None)


def check_style(target, text, pristine):
    """Raises an error unless the lines of 'text' that are not in 'pristine'
    are in Open vSwitch's style."""
    known = set(pristine.split("\n"))
    wrong = []
    for number, line in enumerate(text.split("\n"), 1):
        if line in known:
            continue
        if len(line) > MAX_COLUMNS:
            wrong.append("%s:%d: line of %d columns, more than %d, was added: "
                         "'%s'" % (target, number, len(line), MAX_COLUMNS,
                                   line.strip()))
        if "\t" in line or line != line.rstrip():
            wrong.append("%s:%d: line with a tab or a blank at its end was "
                         "added: '%s'" % (target, number, line.strip()))
    return wrong


class Spatch:
    """Coccinelle's command line tool."""

    def __init__(self, program, macros, timeout):
        self.macros = macros
        self.timeout = timeout  # Of one run, in seconds.
        self.children = set()   # Running processes.
        self.path = shutil.which(program)
        if not self.path:
            raise GraftError("%s: there is no such program, it is in the "
                             "package coccinelle" % program)
        self.path = os.path.abspath(self.path)
        code, version, _ = self._run(["--version"])
        if code:
            raise GraftError("%s: '--version' failed with exit status %d"
                             % (self.path, code))
        # Whatever changes the result of a run, but for the rules and the text.
        self.id = sha256(version, read_text(macros), read_text(__file__),
                         read_text(graft_rules.__file__))

    def _run(self, args, cwd=None):
        """Returns the exit status, stdout and stderr."""
        # A user's .cocciconfig is to have no say.
        env = dict(os.environ, HOME=cwd or "/nonexistent")
        try:
            with subprocess.Popen([self.path] + args, cwd=cwd, env=env,
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as child:
                self.children.add(child)
                try:
                    out, said = child.communicate(timeout=self.timeout)
                except subprocess.TimeoutExpired:
                    raise GraftError("%s: did not end within %d seconds"
                                     % (self.path, self.timeout))
                finally:
                    child.kill()
                    self.children.discard(child)
        except OSError as e:
            raise GraftError("%s: cannot run: %s" % (self.path, e.strerror))
        return (child.returncode, out.decode(errors="replace"),
                said.decode(errors="replace"))

    def kill(self):
        """Ends the runs of other threads."""
        for child in list(self.children):
            child.kill()

    def apply(self, program, target, text):
        """Returns 'text', which is of the file 'target', with the rules of
        'program' applied and marks in it, and what spatch said."""
        with tempfile.TemporaryDirectory(prefix="graft.") as tmp:
            name = os.path.basename(target)
            rules = "rules.cocci"
            for file_name, content in ((name, text), (rules, program.text())):
                with open(os.path.join(tmp, file_name), "w",
                          encoding="utf-8", newline="") as f:
                    f.write(content)
            code, _, said = self._run(
                ["--very-quiet", "--no-includes", "--smpl-spacing",
                 "--indent", "4", "--in-place", "--no-show-diff",
                 "--macro-file", self.macros, "--sp-file", rules, name], tmp)
            if code:
                raise GraftError(self._explain(program, target, code, said))
            return read_text(os.path.join(tmp, name)), said

    @staticmethod
    def _explain(program, target, code, said):
        """Returns a message for spatch's failure."""
        lines = [s for s in said.split("\n")
                 if s.strip() and not s.startswith("warning:")]
        m = re.search(r"\bline (\d+), column", said)
        where = (program.rule_at(int(m.group(1))).where() if m
                 else program.rules[0].source)
        return "%s: spatch failed on %s (exit status %d):%s" % (
            where, target, code, "".join("\n    " + s for s in lines[:12]))

    def bad_parts(self, target, text):
        """Returns the parts of 'text' that spatch cannot parse."""
        with tempfile.TemporaryDirectory(prefix="graft.") as tmp:
            name = os.path.basename(target)
            with open(os.path.join(tmp, name), "w", encoding="utf-8",
                      newline="") as f:
                f.write(text)
            _, out, said = self._run(["--no-includes", "--macro-file",
                                      self.macros, "--parse-c", name], tmp)
        parts = []
        is_bad = False
        for line in (out + said).split("\n"):
            m = re.match(r"(?:bad:|BAD:!!!!!) ?(.*)", line)
            if m:
                if not is_bad:
                    parts.append([])
                parts[-1].append(m.group(1))
            is_bad = m is not None
        return ["\n".join(part) for part in parts]


def explain_miss(rule, bad_parts):
    """Returns a hint why 'rule' did not apply, or ''."""
    code = COMMENT_OR_STRING_RE.sub(" ", "\n".join(
        " " + s[1:] if s[:1] == "-" else s
        for s in rule.body if s[:1] != "+"))
    names = re.findall(r"\b([A-Za-z_]\w*)\s*\(", code)
    names += re.findall(r"\b(?:struct|enum|union)\s+(\w+)\s*\{", code)
    for part in bad_parts:
        for name in names:
            if re.search(r"^%s\s*\(|\b(struct|enum|union)\s+%s\s*\{"
                         % (name, name), part, re.M):
                return " (spatch cannot parse '%s' there)" % name
    return ""


def apply_rules(rules, spatch, text, cache, verbose):
    """Returns 'text' with 'rules', all of one semantic patch and one target,
    applied."""
    target = rules[0].target
    program = Program(rules)
    key = sha256(spatch.id, program.text(),
                 json.dumps([(r.name, r.count, [b.lines for _, _, b
                                                in r.blocks()])
                             for r in rules]), target, text)
    result = cache.get(key)
    if result is not None:
        return result

    if verbose:
        print("graft: spatch: %s -> %s" % (rules[0].source, target),
              flush=True)
    marked, said = spatch.apply(program, target, text)
    wrong = program.check_counts(marked)
    if wrong:
        bad_parts = spatch.bad_parts(target, text)
        raise GraftError("\n".join(
            [sentence + explain_miss(rule, bad_parts)
             for rule, sentence in wrong]
            + ["    spatch: " + s for s in said.split("\n")
               if s.strip() and not s.startswith("warning:")]))
    result = program.expand(marked, text)
    wrong = check_style(target, result, text)
    if wrong:
        raise GraftError("\n".join("%s: %s" % (rules[0].source, s)
                                   for s in wrong))
    cache.put(key, result)
    return result
