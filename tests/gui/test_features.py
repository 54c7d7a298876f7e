"""Runs the tests of features.txt on the real window: a row is a feature that the app's specification names, with the
test that proves it by real input, or with the reason why it is still open. Fails when a row has no test or a test no row.
Open rows and tests that say why they cannot run are reported as skipped, with the reason.

Usage: test_features.py FOLDER_OF_PROGRAMS [--state STATE] [--part N/OF] [--only NAME] [--manager openbox]
STATE is `done` for the default set, `wide` for the rest; without it, both.
"""
import argparse
import importlib
import inspect
import sys
import time
import traceback
from pathlib import Path

from window import SKIPPED, missing
from world import World, commands

STATES = ("done", "wide")
HERE = Path(__file__).resolve().parent
MODULES = ("features_frame", "features_pointer", "features_views", "features_timeline", "features_bands", "features_heads",
           "features_stored", "features_verdicts", "features_states", "features_large", "features_exports", "features_run", "features_runs",
           "features_scope")


def read_rows(text):
    """(section, feature, test, state) of each row."""
    rows = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            section, feature, test, state = (part.strip() for part in line.split("|"))
            if state not in STATES and not state.startswith("open: "):
                raise SystemExit(f"features.txt: neither done nor wide nor open with a reason: {line}")
            rows.append((section, feature, test, state))
    return rows


def all_tests():
    tests = {}
    for name in MODULES:
        for function, what in inspect.getmembers(importlib.import_module(name), inspect.isfunction):
            if what.__module__ == name and not function.startswith("_"):
                tests[function] = what
    keys = importlib.import_module("features_keys")
    for command, *_ in commands():
        if command in keys.EFFECTS:
            tests["key " + command] = lambda world, command=command: keys.press_all(world, command)
    return tests


def check_table(rows, tests):
    """Faults of the table itself."""
    faults = []
    named = [test for _, _, test, state in rows if state in STATES]
    built = (HERE / "CMakeLists.txt").read_text(encoding="utf-8")
    faults += [f"features.txt: no test is named {test}" for test in named if test not in tests and not (test.endswith(".py") and f" {test})" in built)]
    faults += [f"{test} has no row in features.txt" for test in tests if test not in {row[2] for row in rows}]
    faults += [f"the command {c} has no row in features.txt" for c, *_ in commands() if "key " + c not in {row[2] for row in rows}]
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--state", choices=STATES)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--manager")
    options = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return SKIPPED
    rows, tests = read_rows((HERE / "features.txt").read_text(encoding="utf-8")), all_tests()
    faults = check_table(rows, tests)
    part, of = map(int, options.part.split("/"))
    names = list(dict.fromkeys(row[2] for row in rows if row[3] in ([options.state] if options.state else STATES) and row[2] in tests))
    names = [n for i, n in enumerate(names) if i * of // len(names) == part - 1 and any(o in n for o in options.only.split(","))]
    done, skipped = 0, [f"{row[0]}: {row[1]}: {row[3].removeprefix('open: ')}" for row in rows if row[3] not in STATES] if part == 1 else []
    with World(options.binaries, manager=options.manager) as world:
        for name in names:
            begin = time.monotonic()
            try:
                reason = tests[name](world)
                if reason:
                    skipped.append(f"{name}: {reason}")
                else:
                    done += 1
                print(f"{name}: {'skipped' if reason else 'passed'} in {time.monotonic() - begin:.1f} s", flush=True)
            except Exception:
                faults.append(f"{name}: {traceback.format_exc()}")
                print(f"{name}: FAILED\n{traceback.format_exc()}", flush=True)
                world.drop_shared()
        try:
            world.close_shared()
        except AssertionError as fault:
            faults.append(f"the shared window: {fault}")
        faults += [f"the app changed {name}" for name in world.changed_runs()]
    print(f"{done} features passed")
    for line in skipped:
        print(f"skipped: {line}")
    for line in faults:
        print(f"FAILED: {line}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
