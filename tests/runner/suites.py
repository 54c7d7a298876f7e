"""The tables tests/SHARES (each suite and the minutes that its tests may take) and tests/SLOW (tests of the default set that
take over 5 s, and what each alone would catch), and what ctest says of the tests of a build.

A test is of the suite whose name is one of its labels. Other labels say in which builds it runs: CONTRIBUTING.md.
"""
import fnmatch
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SLOW_S = 5  # a test of the default set that takes longer needs a line in SLOW
EXTENDED, WHOLE, SANITIZED = "extended", "whole", ("hostile", "threads")


@dataclass(frozen=True)
class Share:
    """The minutes that the tests of a suite may take, added up."""
    suite: str
    default: float  # of the default set
    more: float  # of `--all`, beside those
    what: str


@dataclass(frozen=True)
class Test:
    number: int  # that ctest gives it, from 1
    name: str
    labels: frozenset

    @property
    def extended(self):
        return EXTENDED in self.labels

    @property
    def sanitized(self):
        """Whether a build with sanitizers runs it, too."""
        return not self.labels.isdisjoint(SANITIZED)


def rows(path, columns):
    """The lines of a table, cut at blanks into so many columns; the last takes the rest of the line."""
    table = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split(maxsplit=columns - 1)
        if len(cells) != columns:
            raise SystemExit(f"{path}:{number}: not {columns} columns: {line}")
        table.append(cells)
    return table


def read_shares(path=TESTS / "SHARES"):
    shares = [Share(suite, float(default), float(more), what) for suite, default, more, what in rows(path, 4)]
    names = [share.suite for share in shares]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SystemExit(f"{path}: more than one line: {', '.join(sorted(twice))}")
    return {share.suite: share for share in shares}


def read_slow(path=TESTS / "SLOW"):
    """Pattern of names -> what these tests alone would catch."""
    return dict(rows(path, 2))


def listed(command):
    """The tests of `ctest ... --show-only=json-v1`."""
    return tests_of(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def tests_of(said):
    tests = []
    for number, test in enumerate(said["tests"], 1):
        labels = next((p["value"] for p in test["properties"] if p["name"] == "LABELS"), ())
        tests.append(Test(number, test["name"], frozenset(labels)))
    return tests


def contained(tests):
    """Names of tests of which others here, with the label `whole`, do everything: of x or x_test x_wide does."""
    wholes = {test.name.removesuffix("_wide") for test in tests if WHOLE in test.labels}
    return {test.name for test in tests if test.name.removesuffix("_test") in wholes}


def suite_of(test, shares):
    """Its only suite; none when it has none, or several."""
    suites = test.labels & shares.keys()
    return next(iter(suites)) if len(suites) == 1 else None


def unlisted(tests, shares):
    """Faults: tests that are of no suite or of several."""
    return [f"{test.name} is of {'several suites' if test.labels & shares.keys() else 'no suite'} of tests/SHARES: its labels are "
            f"{', '.join(sorted(test.labels)) or 'none'}" for test in tests if suite_of(test, shares) is None]


def line_of(name, slow):
    """The pattern of SLOW that a test has."""
    return next((pattern for pattern in slow if fnmatch.fnmatchcase(name, pattern)), None)


def stale(tests, slow):
    """Patterns that no test of the default set has."""
    names = [test.name for test in tests if not test.extended]
    return [pattern for pattern in slow if not fnmatch.filter(names, pattern)]
