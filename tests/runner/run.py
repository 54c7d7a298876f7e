"""Builds and tests; scripts/test calls it after set-up, and says what it does.

The last line is `N passed, N failed, N skipped`. Exit 0 when all builds and tests were made and none failed.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import ParseError

import suites
import summary
from progress import Steps, Suites, Teller, follow
from results import read_results

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "results"
PRESET = "once"


@dataclass(frozen=True)
class Phase:
    """A build, and tests in it."""
    name: str  # in what is printed, and of its logs
    preset: str
    build: tuple  # arguments of scripts/build
    row: str  # of SHARES for all of its tests; empty: each suite has its own
    chosen: object  # whether a test runs


def has_libfuzzer():
    """Whether clang++ links a target of libFuzzer."""
    if shutil.which("clang++") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(["clang++", "-fsanitize=fuzzer,address,undefined", "-x", "c", "-", "-o", f"{folder}/target"],
                              input="int LLVMFuzzerTestOneInput(void) { return 0; }", text=True, capture_output=True).returncode == 0


def phases(everything):
    switch = "ON" if everything else "OFF"
    # An extended test with the label of a sanitized build runs there alone.
    first = Phase("tests", PRESET, ("--", "-DSPSCOPE_BUILD_TESTS=ON", f"-DSPSCOPE_BUILD_EXTENDED={switch}"), "",
                  lambda test: not test.extended or (everything and not test.sanitized))
    if not everything:
        return [first]
    threaded = ("--target", "threaded_tests")
    if has_libfuzzer():
        addresses = Phase("addresses", "fuzz", ("--target", "hostile_tests", "fuzz_targets"), "asan",
                          lambda test: not test.labels.isdisjoint({"hostile", "fuzz"}))
    else:
        print("clang++ has no libFuzzer here (packages clang and libclang-rt-14-dev): no search with tests/fuzz")
        threaded += ("--", "-DCMAKE_CXX_COMPILER=c++")
        addresses = Phase("addresses", "asan", ("--target", "hostile_tests"), "asan", lambda test: "hostile" in test.labels)
    threads = Phase("threads", "tsan", threaded, "tsan", lambda test: "threads" in test.labels)
    return [first, addresses, threads]


def log_of(phase, what=""):
    return RESULTS / f"{phase.name}{what}.log"


def build(phase, teller):
    """Whether it was built."""
    log = log_of(phase, "-build")
    code = follow([ROOT / "scripts/build", phase.preset, *phase.build], log, Steps("build for " + phase.name), teller)
    if code != 0:
        teller.say("".join(log.read_text(encoding="utf-8", errors="replace").splitlines(True)[-40:]))
    return code == 0


def test(phase, tests, suite_of, at_once, teller):
    """The results of tests; none when ctest wrote none."""
    junit = RESULTS / f"{phase.name}.xml"
    numbers = ",".join(str(t.number) for t in tests)
    follow(["ctest", "--preset", phase.preset, "--parallel", str(at_once), "--output-on-failure", "--test-output-size-passed",
            "65536", "-I", "0,0,0," + numbers, "--output-junit", junit], log_of(phase), Suites(phase.name, suite_of), teller)
    try:
        return read_results(junit)
    except (OSError, ParseError):
        return []


def run(phase, shares, total, teller):
    """Builds, tests, and adds to what is summed up."""
    begin = teller.minutes()
    built = build(phase, teller)
    total.build_minutes += teller.minutes() - begin
    if not built:
        total.faults.append(f"the build for {phase.name}: read {log_of(phase, '-build')}")
        return
    every = suites.listed(["ctest", "--preset", phase.preset, "--show-only=json-v1"])
    chosen = {t.name: t for t in every if phase.chosen(t)}
    if not phase.row:
        for name in suites.contained(chosen.values()):
            del chosen[name]
    suite_of = {t.name: phase.row or suites.suite_of(t, shares) or "none" for t in chosen.values()}
    # Tests sleep a third of their time, those of windows and of processes most of all.
    at_once = len(os.sched_getaffinity(0)) + 1
    results = test(phase, chosen.values(), suite_of, at_once, teller) if chosen else []
    total.entries += [summary.Entry(r, suite_of[r.name], not phase.row and not chosen[r.name].extended, log_of(phase)) for r in results]
    if not phase.row:
        total.tests = every
        total.faults += suites.unlisted(every, shares)
    missing = chosen.keys() - {result.name for result in results}
    if missing or not chosen:
        total.faults.append(f"{len(missing) or 'all'} tests did not run: read {log_of(phase)}")


def main():
    parser = argparse.ArgumentParser(usage="scripts/test [--all]")
    parser.add_argument("--all", action="store_true", dest="everything", help="also sanitizers, libFuzzer and the wide matrices")
    everything = parser.parse_args().everything
    os.chdir(ROOT)
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    shares, teller, total = suites.read_shares(), Teller(), summary.Total()
    for phase in phases(everything):
        run(phase, shares, total, teller)
    return summary.report(total, shares, suites.read_slow(), everything, teller)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
