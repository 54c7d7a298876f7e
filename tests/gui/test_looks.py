"""The looks of every view and state in dark and light, in three sizes and at three scales, from the dump of frames that
are made without a display; and of popups, dialogs, a question under way and a run that goes on from a real window. Each
violation is printed with where it was found. Usage: test_looks.py FOLDER_OF_PROGRAMS [--only STATE]
"""
import argparse
import collections
import itertools
import json
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from looks import violations
from window import SKIPPED, missing
from run_place import live, place_of, start_run
from world import World, views

THEMES, SIZES, SCALES = ("dark", "light"), ("1280x720", "1920x1080", "3840x2160"), (1, 1.5, 2)
MATRIX = list(itertools.product(THEMES, SIZES, SCALES))
# For states that differ from the demo in few widgets: each theme, size and scale, and the tightest of all.
FEW = [("dark", "1280x720", 1), ("light", "1280x720", 2), ("dark", "1920x1080", 1.5), ("light", "3840x2160", 2)]
# Scheduled in some 10 s: a message to 63 others, and 64 ring steps.
MANY = """[model]
preset = "wan-mini"
heads = 64
head_dim = 16
hidden = 1024
grid = [16, 32, 32]
[mask]
pattern = "dense"
[cluster]
preset = "ndr-h100-xN"
ranks = 4096
[run]
mode = "simulate"
strategies = ["usp:ulysses=64,ring=64"]
layers = 1
"""
# Answers that are enough to know the file, and none of what the views ask then.
FILE_KNOWN = 2


def stored(world):
    """The arguments and the combinations of each state; arguments that begin with -- are options."""
    long_name = world.folder / ("r" * 200 + ".db")
    shutil.copy(world.demo, long_name)
    store = sqlite3.connect(long_name)
    store.execute("update strategy set label = substr(label || ' ' || replace(hex(zeroblob(150)), '00', 'Wg'), 1, 300)")
    store.commit()
    store.close()
    broken = world.folder / "broken.db"
    broken.write_bytes(b"no store at all\n" * 100)
    foreign = world.folder / "foreign.db"
    store = sqlite3.connect(foreign)
    store.execute("create table bird (name text)")
    store.commit()
    store.close()
    many = world.run("many.db", MANY)
    return {"demo": ([world.demo], MATRIX), "no file": ([], MATRIX), "long names": ([long_name], MATRIX),
            "failed": ([broken], FEW), "foreign": ([foreign], FEW), "missing file": ([world.folder / "nowhere.db"], FEW),
            "several files": ([world.demo, long_name, foreign], FEW), "4,096 ranks": ([many], FEW[:1]),
            "loading": ([world.demo, "--answers", 0], FEW), "loading a layer pass": ([world.demo, "--answers", FILE_KNOWN], FEW),
            "selected": ([f"{world.demo}?of=ulysses&rank=3&op=40&t=2ms..9ms&name=attend"], FEW),
            "what if": ([f"{world.demo}?whatif=ulysses,evenly_spread&of=ulysses&rank=3&op=40"], FEW),
            "whole files": ([f"{world.demo}?time=file&of=ulysses&rank=3&op=40&name=attend", long_name], FEW),
            "whole file of 4,096 ranks": ([f"{many}?time=file"], FEW[:2])}


def dump(world, view, arguments, theme, size, scale):
    """`arguments`: files, of which the first may have parts of a link behind it."""
    options = [str(a) for a in arguments[1:]] if "--answers" in arguments else []
    arguments = arguments[:1] if options else arguments
    first, _, parts = str(arguments[0] if arguments else "").partition("?")
    files = [first, *map(str, arguments[1:])] if arguments else []
    places = [f"{files[0]}#{view}?{parts}", *files[1:]] if parts else [*files, f"#{view}"]
    command = [world.program, "--settings", "", "--ui-dump", "-", "--size", size, "--scale", str(scale), "--theme", theme, *options, *places]
    done = subprocess.run(command, capture_output=True, text=True, env=world.no_display())
    return json.loads(done.stdout) if done.returncode == 0 and not done.stderr else f"ended with {done.returncode}: {done.stderr.strip()}"


def headless(world, only, found):
    jobs = []
    for state, (arguments, combinations) in stored(world).items():
        if only in state:
            only_timeline = state.startswith("whole file") or state == "what if"
            jobs += [(state, view, arguments, *c) for view, *_ in views() if view == "timeline" or not only_timeline for c in combinations]

    def judge(job):
        state, view, arguments, theme, size, scale = job
        items = dump(world, view, arguments, theme, size, scale)
        where = f"{state}, {view}, {theme}, {size}, scale {scale}"
        if isinstance(items, str):
            return [(where, items)]
        assert len(items) > 5, job
        return [(where, v) for v in violations(items, scale)]

    with ThreadPoolExecutor(2) as pool:
        for faults in pool.map(judge, jobs):
            found += faults
    return len(jobs)


def in_window(world, found):
    """Popups, dialogs and tooltips, and a question under way."""
    from features_frame import LONG_QUESTION
    frames = 0

    def judge(what):
        nonlocal frames
        frames += 1
        found.extend((f"window, {what}", v) for v in violations(window.items, window.state["scale"]))

    window = world.open(world.demo)
    for theme in ("first theme", "other theme"):
        window.click("rail/views/overview")
        for key, what in (("?", "keys"), ("Ctrl+Shift+P", "commands"), ("Ctrl+P", "places")):
            window.press(key)
            judge(f"{what}, {theme}")
            window.press("Escape")
        for name in ("rail/views/menu", "table/tools"):
            window.click(name)
            judge(f"{name}, {theme}")
            window.press("Escape")
        window.click("rail/views/timeline")
        for name in ("scope/strategies", "scope/layer", "scope/step", "events/columns", "events/copy", "timeline/main/order"):
            window.click(name)
            judge(f"{name}, {theme}")
            window.press("Escape")
        window.click("rail/views/sql")
        window.click("sql/main/question")
        window.press("Ctrl+A")
        window.type(LONG_QUESTION)
        window.click("sql/main/ask", rest=False)
        window.wait_for(lambda s: window.has("sql/main/cancel"), "the question is under way")
        judge(f"a question under way, {theme}")
        window.click("sql/main/cancel", rest=False)
        window.wait_for(lambda s: not s["busy"], "it ends")
        window.press("Ctrl+Shift+L")
    window.close()
    with place_of(world, "looks") as place:
        window = place.window()
        start_run(window, "steps", "looks.db")
        live(window, 500)
        for theme in ("first theme", "other theme"):
            judge(f"a run that goes on, {theme}")
            window.press("Ctrl+Shift+L", rest=False)
        window.click("shown/stop", rest=False)
        place.none_is_left()
    return frames


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
    options = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return SKIPPED
    found = []
    with World(options.binaries) as world:
        frames = headless(world, options.only, found)
        frames += in_window(world, found) if options.only in "window" else 0
    report(found)
    print(f"{frames} frames, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
