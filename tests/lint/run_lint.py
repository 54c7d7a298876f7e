"""Runs one check, `run_lint.py layers`, or all, on the source tree. Exit 1 with findings, 77 when it cannot run here."""
import importlib
import sys
from pathlib import Path

from tree import Tree, apply_exceptions

CHECKS = ("layers", "sizes", "text", "tables", "schemas", "references", "format")
ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77


def main(names):
    tree, findings, status = Tree(ROOT), [], 0
    for name in names or CHECKS:
        module = importlib.import_module(f"check_{name}")
        reason = module.unavailable() if hasattr(module, "unavailable") else None
        if reason:
            print(f"{name}: skipped: {reason}")
            status = SKIPPED
            continue
        exceptions = tree.text("tests/lint/exceptions.txt")
        findings += apply_exceptions(list(module.check(tree)), exceptions, module.RULES)
    print("\n".join(map(str, findings)) or "no findings")
    return 1 if findings else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
