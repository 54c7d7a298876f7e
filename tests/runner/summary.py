"""What scripts/test prints at its end: minutes of each suite beside its share, warnings, skipped and failed tests, counts.

Warnings fail nothing, since machines differ: a suite that takes over one and a half times its share, a test of the default
set over 5 s without a line in tests/SLOW, a line there without such a test.
"""
from collections import defaultdict
from dataclasses import dataclass, field

from results import FAILED, PASSED, SKIPPED, Result
from suites import SLOW_S, line_of, stale

LINES, WIDTH = 8, 200  # of what a failed test printed


@dataclass(frozen=True)
class Entry:
    """A test that ran."""
    result: Result
    suite: str
    default: bool  # of the default set, in the build without sanitizers
    log: str  # what to read of it


@dataclass
class Total:
    entries: list = field(default_factory=list)
    tests: list = field(default_factory=list)  # all of the build without sanitizers
    faults: list = field(default_factory=list)  # what went wrong outside of tests; each counts as one that failed
    build_minutes: float = 0


def table(entries, shares, everything):
    """Lines of the table, and warnings on shares."""
    used = defaultdict(list)
    for entry in entries:
        used[entry.suite].append(entry.result.seconds / 60)
    lines, warnings = [f"{'suite':14}{'tests':>6}{'minutes':>9}{'share':>7}"], []
    for name, share in shares.items():
        if name not in used:
            continue
        minutes, allowed = sum(used[name]), share.default + (share.more if everything else 0)
        lines.append(f"{name:14}{len(used[name]):6}{minutes:9.2f}{allowed:7.1f}  {share.what}")
        if minutes > 1.5 * allowed:
            warnings.append(f"{name} took {minutes:.1f} minutes; its share in tests/SHARES is {allowed:g}")
    return lines, warnings


def slow_warnings(entries, tests, slow):
    default = sorted((entry.result for entry in entries if entry.default), key=lambda result: -result.seconds)
    long = [f"{result.name} {result.seconds:.0f} s" for result in default if result.seconds > SLOW_S and line_of(result.name, slow) is None]
    warnings = ["over 5 s, and no line of tests/SLOW says what it alone would catch: " + ", ".join(long)] if long else []
    ran = {line_of(result.name, slow) for result in default}
    needed = {line_of(result.name, slow) for result in default if result.seconds > SLOW_S / 2}
    warnings += [f"tests/SLOW: {pattern} takes less than {SLOW_S / 2:g} s: its line can go" for pattern in slow if pattern in ran - needed]
    return warnings + [f"tests/SLOW: no test of the default set is named {pattern}" for pattern in stale(tests, slow)]


def told(output):
    """What a failed test says of it: the lines that say FAILED, else its last ones."""
    lines = output.splitlines()
    telling = [line for line in lines if "FAILED" in line][:LINES] or lines[-LINES:]
    return "".join(f"    {line[:WIDTH]}\n" for line in telling)


def grouped(pairs):
    """Key -> names: three, or one and how many more."""
    names = defaultdict(list)
    for key, name in pairs:
        names[key].append(name)
    return {key: ", ".join(all) if len(all) <= 3 else f"{all[0]} and {len(all) - 1} more" for key, all in names.items()}


def report(total, shares, slow, everything, teller):
    """Prints the summary; the exit code."""
    lines, warnings = table(total.entries, shares, everything)
    teller.say("\n" + "\n".join(lines))
    for warning in warnings + slow_warnings(total.entries, total.tests, slow):
        teller.say("warning: " + warning)
    of = {outcome: [e for e in total.entries if e.result.outcome == outcome] for outcome in (PASSED, FAILED, SKIPPED)}
    for reason, names in grouped((e.result.reason, e.result.name) for e in of[SKIPPED]).items():
        teller.say(f"skipped: {names}: {reason[:WIDTH]}")
    for log, names in grouped((e.log, name) for e in of[PASSED] for name in e.result.left_out).items():
        teller.say(f"skipped inside of programs that passed: {names}: read {log}")
    for entry in of[FAILED]:
        teller.say(f"{told(entry.result.output)}failed: {entry.result.name}: read {entry.log}")
    for fault in total.faults:
        teller.say("failed: " + fault)
    teller.say(f"{teller.minutes():.1f} minutes, {total.build_minutes:.1f} of them for builds")
    failed = len(of[FAILED]) + len(total.faults)
    teller.say(f"{len(of[PASSED])} passed, {failed} failed, {len(of[SKIPPED])} skipped")
    return 0 if failed == 0 and of[PASSED] else 1
