"""The looks of every view and state in dark and light, in three sizes and at three scales, from the dump of frames that
are made without a display; and of popups, dialogs, a question under way and a run that goes on from a real window. Each
violation is printed with where it was found. The demo is looked at in those whose rooms for widgets differ,
states that differ from it in few widgets in few. --few is the demo and long names in few, without windows; --whole is all
in all.

Usage: test_looks.py FOLDER_OF_PROGRAMS [--only STATE] [--few | --whole]
"""
import argparse
import collections
import sys
from concurrent.futures import ThreadPoolExecutor

from looks import violations
from looks_states import MATRIX, few_states, stored_states
from looks_window import in_windows
from window import SKIPPED, missing
from world import World, said_by, views


def dump(world, view, arguments, theme, size, scale):
    """`arguments`: files, of which the first may have parts of a link behind it."""
    options = [str(a) for a in arguments[1:]] if "--answers" in arguments else []
    arguments = arguments[:1] if options else arguments
    first, _, parts = str(arguments[0] if arguments else "").partition("?")
    files = [first, *map(str, arguments[1:])] if arguments else []
    places = [f"{files[0]}#{view}?{parts}", *files[1:]] if parts else [*files, f"#{view}"]
    return said_by(world.program, "--ui-dump", "-", "--size", size, "--scale", scale, "--theme", theme, *options, *places)


def headless(world, only, few, whole, found):
    jobs = []
    for state, (arguments, combinations) in (few_states if few else stored_states)(world).items():
        if only in state:
            only_timeline = state.startswith(("whole file", "observed")) or state == "what if"
            # Of so many ranks these two take half a minute.
            left_out = () if whole or state != "4,096 ranks" else ("balance", "report")
            jobs += [(state, view, arguments, *c) for view, *_ in views() if view == "timeline" or not only_timeline and view not in left_out
                     for c in (MATRIX if whole else combinations)]

    def judge(job):
        state, view, arguments, theme, size, scale = job
        where = f"{state}, {view}, {theme}, {size}, scale {scale}"
        try:
            items = dump(world, view, arguments, theme, size, scale)
        except AssertionError as fault:
            return [(where, str(fault))]
        assert len(items) > 5, job
        return [(where, v) for v in violations(items, scale)]

    with ThreadPoolExecutor(2) as pool:
        for faults in pool.map(judge, jobs):
            found += faults
    return len(jobs)


def report(found):
    """Violations of one kind are told once, with how often and one place."""
    grouped = collections.defaultdict(list)
    for where, what in found:
        grouped[what.split(": ")[0] + ": " + " ".join(w for w in what.split(": ", 1)[-1].split() if not any(c.isdigit() for c in w))].append((where, what))
    for rows in sorted(grouped.values(), key=len, reverse=True):
        print(f"{len(rows):5} x  {rows[0][1]}\n         in {rows[0][0]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--only", default="")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return SKIPPED
    found = []
    with World(options.binaries, screen=(3840, 2160)) as world:
        frames = headless(world, options.only, options.few, options.whole, found)
        frames += in_windows(world, options.whole, found) if options.only in "window" and not options.few else 0
    report(found)
    print(f"{frames} frames, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
