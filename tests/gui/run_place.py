"""Folders in which tests start runs: presets, settings and scratch of their own, windows in it, and the rule that no
process is left when a test ends.
"""
import os
import signal
import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path

from window import TIMEOUT_S

# Presets of one's own. `done`: ends by itself in a moment; `steps`: goes on for minutes and completes a layer pass every
# few milliseconds; `checked`: the same, and compares each output with a reference; `one`: goes on for minutes within one layer pass.
BASE = ('[model]\npreset = "wan-mini"\ngrid = [3, 6, 7]\nheads = 4\nhead_dim = 8\n[mask]\npattern = "sparge"\ndensity = 0.4\nblock = 16\n'
        '[cluster]\npreset = "local"\nranks = 2\n[run]\n')
STEPS = 'strategies = ["ring"]\nrepeats = 1\nwarmup = 0\ndenoise_steps = 5000\n'
PRESETS = {"done": f'# Done at once. A small run.\n{BASE}strategies = ["ring", "ulysses"]\nrepeats = 2\n',
           "steps": f'# Many steps. It goes on.\n{BASE}{STEPS}verify = "off"\n',
           "checked": f'# Each output is checked. It goes on.\n{BASE}{STEPS}',
           "one": f'# One pass. It goes on.\n{BASE}strategies = ["ring"]\nverify = "off"\nrepeats = 100000\n'}
TITLES = {"done": "Done at once", "steps": "Many steps", "checked": "Each output is checked", "one": "One pass"}


class Place:
    """A folder with presets, settings, scratch and outputs, and windows in it."""

    def __init__(self, world, name):
        self.world, self.folder = world, world.folder / name
        self.scratch, self.config = self.folder / "scratch", self.folder / "config"
        (self.config / "spscope/presets").mkdir(parents=True)
        self.scratch.mkdir()
        for preset, text in PRESETS.items():
            (self.config / f"spscope/presets/{preset}.toml").write_text(text, encoding="utf-8")
        self.environment = {"XDG_CONFIG_HOME": str(self.config), "TMPDIR": str(self.scratch)}
        self.settings = self.config / "spscope/desktop.json"
        self.windows = []

    def window(self, link="#run", options=(), **more):
        window = self.world.open("--settings", self.settings, link, *options, folder=self.folder / "here", environment=self.environment, **more)
        self.windows.append(window)
        if link == "#run":
            window.wait_for(lambda s: s["view"].get("planned"), "the plan of the first preset")
        return window

    def output(self, name):
        return self.folder / "here" / name

    def processes(self):
        """(pid, command line) of the programs that work in this folder, but of the windows."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if words[0].endswith(b"/spscope") and str(self.folder).encode() in b" ".join(words):
                    found.append((int(entry.name), b" ".join(words).decode()))
        return found

    def none_is_left(self):
        until(lambda: not self.processes(), f"the end of {self.processes()}")

    def close(self):
        for window in self.windows:
            window.kill()
        for pid, _ in self.processes():
            os.kill(pid, signal.SIGKILL)


@contextmanager
def place_of(world, name):
    place = Place(world, name)
    try:
        yield place
        place.none_is_left()
    finally:
        place.close()


def until(condition, what, timeout=TIMEOUT_S):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what}: not in {timeout} s")


def take(window, preset, output=None):
    """Chooses a preset of one's own and waits until it is planned."""
    window.click(f"presets/{preset}", rest=False)
    if output:
        type_into(window, "actions/output", output)
    window.wait_for(lambda s: s["view"]["planned"] and any(o["legal"] for o in s["view"]["strategies"] or []), f"the plan of {preset}")


def type_into(window, field, text):
    window.click(field)
    window.press("Ctrl+A")
    if text:
        window.type(text)
    else:
        window.press("Delete")
    window.press("Enter")


def start_run(window, preset, output):
    """Starts a preset from the page of what is to run; its number in the queue."""
    if not window.has("actions/start"):
        window.click("set up", rest=False)
    take(window, preset, output)
    before = len(window.view["queue"])
    window.click("actions/start", rest=False)
    window.wait_for(lambda s: len(s["view"]["queue"]) > before and not window.has("actions/start"), "the page of runs")
    return window.view["queue"][-1]["number"]


def run_of(state, number):
    return next((run for run in state["view"]["queue"] if run["number"] == number), None)


def ended(window, number, state):
    run = window.wait_for(lambda s: (r := run_of(s, number)) is not None and r["state"] in ("done", "failed", "stopped", "cancelled") and r,
                          f"the end of run {number}")
    assert run["state"] == state, run
    return run


def live(window, events=1):
    """Waits until so many events of the run in progress are on the screen."""
    return window.wait_for(lambda s: (t := s["view"]["timeline"]) and t["events"] >= events and t, f"{events} events on the screen", 2 * TIMEOUT_S)


def events_of(world, path):
    return world.sql(path, "SELECT count(*) FROM event WHERE NOT unfinished")[0][0]


def committed_in(place):
    """Events in the shards of the runs in progress; a shard whose tables do not stand yet has none."""
    count = 0
    for path in place.scratch.glob("*/*.rank-*.db"):
        shard = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        if shard.execute("SELECT 1 FROM sqlite_schema WHERE name = 'chunk'").fetchone():
            count += shard.execute("SELECT sum(count) FROM chunk").fetchone()[0] or 0
        shard.close()
    return count
