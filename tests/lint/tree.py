"""The files of a source tree and what the checks share: findings, text without comments, exceptions.

A check is a function `check(tree)` that yields findings. Exceptions are in tests/lint/exceptions.txt, one a line:
rule, path, reason. An exception that no finding needs is itself a finding, so the list can only shrink.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

SOURCES = (".h", ".cpp", ".cuh", ".cu")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
                      re.DOTALL)


class Finding(NamedTuple):
    rule: str
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.paths = sorted(path for path in self._list() if (self.root / path).is_file())
        self._texts = {}

    def _list(self):
        """Files that git tracks or would add; in a copy without git, every file outside build folders."""
        git = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        if (self.root / ".git").exists() and shutil.which(git[0]):
            listed = subprocess.run(git, capture_output=True, text=True)
            if listed.returncode == 0:
                return set(listed.stdout.split("\0")) - {""}
        found = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in (".git", "__pycache__") and not name.startswith("build")]
            found |= {os.path.relpath(os.path.join(folder, name), self.root) for name in names}
        return found

    def text(self, path):
        """The file's text; empty for a file that is not text."""
        if path not in self._texts:
            try:
                self._texts[path] = (self.root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                self._texts[path] = ""
        return self._texts[path]

    def with_suffix(self, *suffixes, under=""):
        return [path for path in self.paths if path.endswith(suffixes) and path.startswith(under)]

    def exists(self, path):
        return (self.root / path).exists()


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def code_only(text):
    """C++ text with comments and literals replaced by blanks of the same length and lines."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def literals(text):
    """(offset, text) of every string literal of C++ text."""
    return [(m.start(), m.group()) for m in NOT_CODE.finditer(text) if m.group()[0] in 'R"']


def comments(text):
    """(offset, text) of every comment of C++ text."""
    return [(m.start(), m.group()) for m in NOT_CODE.finditer(text) if m.group().startswith(("//", "/*"))]


def rows(text):
    """Lines of a table file: comments and blank lines left out."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def apply_exceptions(findings, text, rules):
    """Findings that no row of exceptions.txt excuses, and a finding for every row that excuses nothing."""
    excused = [tuple(row.split(None, 2)) for row in rows(text)]
    left, used = [], set()
    for finding in findings:
        matching = [row for row in excused if row[:2] == (finding.rule, finding.path)]
        used.update(matching)
        if not matching:
            left.append(finding)
    for row in excused:
        if row[0] in rules and row not in used:
            left.append(Finding(row[0], "tests/lint/exceptions.txt", 1, f"exception for {row[1]} is no longer needed"))
        if len(row) < 3:
            left.append(Finding(row[0], "tests/lint/exceptions.txt", 1, f"exception for {row[1]} gives no reason"))
    return left
