"""R12: C++ sources are as clang-format 14, the version of Debian 12, writes them. Skipped where that is missing."""
import re
import shutil
import subprocess

from tree import SOURCES, Finding

RULES = {"R12": "clang-format changes nothing"}
VERSION = "14"


def unavailable():
    """Why the check cannot run here, or None."""
    program = shutil.which("clang-format")
    if program is None:
        return "clang-format is missing"
    found = re.search(r"version (\d+)", subprocess.run([program, "--version"], capture_output=True, text=True).stdout)
    if not found or found.group(1) != VERSION:
        return f"clang-format is not version {VERSION}; other versions format differently"
    return None


def check(tree):
    paths = tree.with_suffix(*SOURCES)
    if not paths:
        return
    run = subprocess.run(["clang-format", "--dry-run", *paths], cwd=tree.root, capture_output=True, text=True)
    found = {}
    for path, line in re.findall(r"^(.+?):(\d+):\d+: warning: code should be clang-formatted", run.stderr, re.MULTILINE):
        found.setdefault(path, int(line))
    for path, line in found.items():
        yield Finding("R12", path, line, "run clang-format -i on it")
