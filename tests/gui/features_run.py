"""Features of the view Run: the form, its strategies, commands and files; runs that wait, go on, are stopped, die, and are
recovered. Runs are those of the real program, started by the window or found by it; after each test none is left.
"""
import json
import os
import resource
import shlex
import signal
import sqlite3
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from world import ROOT

# Presets of one's own. `done`: ends by itself in a moment; `steps`: goes on for minutes and completes a layer pass every
# few milliseconds; `one`: goes on for minutes within one layer pass.
BASE = '[model]\npreset = "wan-mini"\ngrid = [3, 6, 7]\nheads = 4\nhead_dim = 8\n[mask]\npattern = "sparge"\ndensity = 0.4\nblock = 16\n'
PRESETS = {
    "done": f'# Done at once. A small run.\n{BASE}[cluster]\npreset = "local"\nranks = 2\n[run]\nstrategies = ["ring", "ulysses"]\nrepeats = 2\n',
    "steps": f'# Many steps. It goes on.\n{BASE}[cluster]\npreset = "local"\nranks = 2\n[run]\nstrategies = ["ring"]\nverify = "off"\n'
             'repeats = 1\nwarmup = 0\ndenoise_steps = 5000\n',
    "one": f'# One pass. It goes on.\n{BASE}[cluster]\npreset = "local"\nranks = 2\n[run]\nstrategies = ["ring"]\nverify = "off"\n'
           'repeats = 100000\n',
}
TITLES = {"done": "Done at once", "steps": "Many steps", "one": "One pass"}


class Place:
    """A folder with presets, settings, scratch and outputs, and windows in it."""

    def __init__(self, world, name):
        self.world, self.folder = world, world.folder / name
        self.scratch, self.config = self.folder / "scratch", self.folder / "config"
        (self.config / "spscope/presets").mkdir(parents=True)
        self.scratch.mkdir()
        for preset, text in PRESETS.items():
            (self.config / f"spscope/presets/{preset}.toml").write_text(text, encoding="utf-8")
        self.environment = {"XDG_CONFIG_HOME": str(self.config), "TMPDIR": str(self.scratch),
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.settings = self.config / "spscope/desktop.json"
        self.windows, self.children = [], []

    def window(self, link="#run"):
        window = self.world.open("--settings", self.settings, link, folder=self.folder / "here", environment=self.environment)
        self.windows.append(window)
        if link == "#run":
            window.wait_for(lambda s: s["view"].get("planned"), "the plan of the first preset")
        return window

    def output(self, name):
        return self.folder / "here" / name

    def begin(self, name, preset, *arguments):
        """The program, started without a window; the file that it will write."""
        out = self.output(name)
        out.parent.mkdir(exist_ok=True)
        self.children.append(subprocess.Popen(
            [self.world.spscope, "run", self.config / f"spscope/presets/{preset}.toml", "-o", out, "--headless", *arguments],
            env={**os.environ, **self.environment}, cwd=out.parent, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
        _until(lambda: Path(f"{out}.collecting").exists() and any(True for _ in self.scratch.glob("*/*.rank-*.db")), "the shards of the run")
        return out

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
        _until(lambda: not self.processes(), f"the end of {self.processes()}")

    def close(self):
        for window in self.windows:
            window.kill()
        for child in self.children:
            child.poll()
        for pid, _ in self.processes():
            os.kill(pid, signal.SIGKILL)
        for child in self.children:
            child.wait()


@contextmanager
def _place(world, name):
    place = Place(world, name)
    try:
        yield place
        place.none_is_left()
    finally:
        place.close()


def _until(condition, what, timeout=30):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what}: not in {timeout} s")


def _take(window, preset, output=None):
    """Chooses a preset of one's own and waits until it is planned."""
    window.click(f"presets/{preset}", rest=False)
    if output:
        _type(window, "actions/output", output)
    window.wait_for(lambda s: s["view"]["planned"] and any(o["legal"] for o in s["view"]["strategies"] or []), f"the plan of {preset}")


def _type(window, field, text):
    window.click(field)
    window.press("Ctrl+A")
    if text:
        window.type(text)
    else:
        window.press("Delete")
    window.press("Enter")


def _start(window, preset, output):
    """Starts a preset from the page of what is to run; its number in the queue."""
    if not window.has("actions/start"):
        window.click("set up", rest=False)
    _take(window, preset, output)
    before = len(window.view["queue"])
    window.click("actions/start", rest=False)
    window.wait_for(lambda s: len(s["view"]["queue"]) > before and not window.has("actions/start"), "the page of runs")
    return window.view["queue"][-1]["number"]


def _run_of(state, number):
    return next((run for run in state["view"]["queue"] if run["number"] == number), None)


def _ended(window, number, state):
    run = window.wait_for(lambda s: (r := _run_of(s, number)) is not None and r["state"] in ("done", "failed", "stopped", "cancelled") and r,
                          f"the end of run {number}")
    assert run["state"] == state, run
    return run


def _live(window, events=1):
    """Waits until so many events of the run in progress are on the screen."""
    return window.wait_for(lambda s: (t := s["view"]["timeline"]) and t["events"] >= events and t, f"{events} events on the screen", 60)


def _events(world, path):
    return world.sql(path, "SELECT count(*) FROM event")[0][0]


# -- what is to run

def run_presets(world):
    with _place(world, "run presets") as place:
        window = place.window()
        files = sorted((ROOT / "samples/presets").glob("*.toml"))
        shown = {p["name"]: p["title"] for p in window.view["presets"]}
        assert list(shown) == [f.stem for f in files] + sorted(PRESETS), shown
        assert all(shown[name] == title for name, title in TITLES.items()), shown
        for file in files:
            window.click(f"presets/{file.stem}", rest=False)
            window.wait_for(lambda s: s["view"]["planned"] and s["view"]["strategies"], f"the plan of {file.stem}", 60)
            assert not window.view["problems"], (file.stem, window.view["problems"])
            assert any(s["legal"] for s in window.view["strategies"]), (file.stem, window.view["strategies"])
            said = world.json_of("plan", file, "--json", "--set", "run.layers=[0]", "--set", "run.denoise_steps=1")
            assert said["strategies"], file.stem
            asked = shlex.split(window.view["command"])
            verb = next(line.split()[2] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#   spscope"))
            assert asked[1] == verb, (file.stem, asked)
        # A file with faults is read as far as it goes, and each fault is said with its line.
        bad = PRESETS["done"].replace("density = 0.4", 'density = "much"').replace("repeats = 2", "repeets = 2")
        (place.config / "spscope/presets/bad.toml").write_text(bad, encoding="utf-8")
        window.close()
        again = place.window()
        again.click("presets/bad", rest=False)
        for words in ("bad.toml, line 9: mask.density", "bad.toml, line 16: run.repeets"):
            again.wait_for(lambda s, words=words: again.says(words), words)


def run_form(world):
    with _place(world, "run form") as place:
        window = place.window()
        keys = [key["name"] for key in world.json_of("list", "keys", "--json")["keys"]]
        own = [k for k in keys if not k.startswith("strategy.") and len(k.split(".")) == 2]
        assert not window.has("mask.seed/value"), "keys that few need are shown at once"
        window.click("form/all settings")
        for key in own:
            if key != "run.strategies":
                assert window.has(f"form/{key}/value"), f"{key} is not in the form"
        # Parameters of each pattern with the pattern, of each strategy below it.
        patterns = sorted({k.split(".")[1] for k in keys if k.startswith("mask.") and len(k.split(".")) == 3})
        for pattern in patterns:
            window.click("form/mask.pattern/value", rest=False)
            window.wait_for(lambda s: window.has(f"{pattern}", "row") or window.find(pattern), f"the choice {pattern}")
            window.click(pattern, first=True, rest=False)
            window.wait_for(lambda s: s["view"]["values"]["mask.pattern"] == pattern, pattern)
            for key in keys:
                if key.startswith(f"mask.{pattern}."):
                    window.wait_for(lambda s, key=key: window.has(f"form/{key}/value"), key)
        for strategy in sorted({k.split(".")[1] for k in keys if k.startswith("strategy.")}):
            window.wait_for(lambda s: s["view"]["planned"], "the plan")  # rows get higher with it
            window.click(f"strategies/{strategy}/parameters", rest=False)
            for key in keys:
                if key.startswith(f"strategy.{strategy}."):
                    window.wait_for(lambda s, key=key: window.has(f"strategies/{strategy}/{key}/value"), key)
        # Search, a change, its mark, reset.
        window.click("form/all settings")
        _type(window, "form/search", "seed")
        assert window.has("mask.seed/value") and window.has("run.seed/value") and not window.has("model.preset/value")
        assert not window.has("mask.seed/reset")
        _type(window, "mask.seed/value", "17")
        window.wait_for(lambda s: s["view"]["values"]["mask.seed"] == "17", "the value")
        assert "mask.seed" in window.view["changed"] and "mask.seed=17" in window.view["command"]
        window.click("mask.seed/reset", rest=False)
        window.wait_for(lambda s: s["view"]["values"]["mask.seed"] == "1" and "mask.seed" not in s["view"]["changed"], "the default")


def run_faults(world):
    wrong = {"model.grid": "4, 4", "mask.density": "2", "cluster.ranks": "-3", "run.repeats": "many", "run.denoise_steps": "0",
             "mask.block": "0", "run.threads_per_rank": "-1"}
    with _place(world, "run faults") as place:
        window = place.window()
        window.click("form/all settings")
        for key, value in wrong.items():
            _type(window, f"form/{key}/value", value)
        window.wait_for(lambda s: len({p["field"] for p in s["view"]["problems"]}) >= len(wrong), "all problems")
        _all_said(window, set(wrong))
        start = window.item("actions/start")
        assert start["disabled"], "a config with faults can be run"
        # The program says the same of the same config, where it can be asked at all.
        said = subprocess.run([world.spscope, "plan", "--json", *sum((["--set", f"{k}={v}"] for k, v in wrong.items()), [])],
                              capture_output=True, text=True)
        told = {p["field"] for p in json.loads(said.stdout)["problems"]}
        assert told == {p["field"] for p in window.view["problems"]}, (told, window.view["problems"])
        # What only the program finds: a file that is not there, a strategy that cannot be. It stands beside its field, too.
        window.click("presets/done", rest=False)
        _type(window, "form/mask.file/value", "/no/such/masks.npy")
        window.wait_for(lambda s: s["view"]["planned"] and s["view"]["problems"], "what the program says")
        _all_said(window, {"mask.file"})
        window.click("presets/done", rest=False)
        _type(window, "form/run.device/value", "cudda")
        window.wait_for(lambda s: s["view"]["problems"] and s["view"]["problems"][0]["field"] == "run.device", "a problem of the device")
        _all_said(window, {"run.device"})
        # Of a strategy's parameter: below the strategy.
        window.click("presets/done", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and not s["view"]["problems"], "the plan")
        window.click("strategies/usp/parameters", rest=False)
        window.wait_for(lambda s: window.has("strategy.usp.ulysses/value"), "the parameters of usp")
        _type(window, "strategy.usp.ulysses/value", "few")
        window.wait_for(lambda s: window.has("strategies/usp/chosen") and s["view"]["planned"] or s["view"]["problems"], "the answer")
        _type(window, "actions/output", "/no/such/folder/x.db")


def _all_said(window, keys):
    """Each problem that the window knows is on the screen, those of `keys` under the name of their key."""
    problems = window.view["problems"]
    assert keys <= {p["field"] for p in problems}, (keys, problems)
    for problem in problems:
        texts = [i for i in window.items if i["kind"] == "text" and problem["message"] in i["text"]]
        texts = texts or [i for i in window.items if problem["message"] in i["text"]]
        assert texts, f"lost: {problem}"
        if problem["field"] in keys:
            beside = [i for i in texts if f"/{problem['field']}" in i["path"]]
            value = window.item(f"form/{problem['field']}/value")
            assert beside and min(abs(i["rect"][1] - value["rect"][3]) for i in beside) < 60, (problem, [i["path"] for i in texts])


def run_strategies(world):
    with _place(world, "run strategies") as place:
        window = place.window()
        _take(window, "done")
        # Legality, reasons and figures of the program.
        window.click("strategies/dsp/chosen", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and "-s dsp" in s["view"]["command"], "the plan with dsp")
        said = {s["name"]: s for s in _said(world, window, "ring", "dsp")["strategies"]}
        ring, dsp = _planned(window.state, "ring"), _planned(window.state, "dsp")
        assert ring["legal"] and ring["imbalance_ratio"] == said["ring"]["imbalance_ratio"], (ring, said["ring"])
        assert ring["sent_bytes"] == max(said["ring"]["bytes_sent"])
        assert not dsp["legal"] and [p["message"] for p in dsp["problems"]] == [p["message"] for p in said["dsp"]["problems"]]
        for problem in dsp["problems"]:
            assert f"{problem['message']} – {problem['hint']}" in " ".join(window.texts()), problem
        window.click("strategies/dsp/chosen", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and "-s dsp" not in s["view"]["command"], "the plan without dsp")
        # A second setting of one, and a parameter of another.
        window.click("strategies/ring/parameters", rest=False)
        window.wait_for(lambda s: window.has("strategies/ring/strategy.ring.order/value"), "the order of ring")
        _type(window, "strategies/ring/strategy.ring.order/value", "zigzag")
        window.wait_for(lambda s: "strategy.ring.order=zigzag" in s["view"]["command"], "the parameter in the command")
        window.click("strategies/ring/add", rest=False)
        window.wait_for(lambda s: "ring:order=contiguous" in s["view"]["command"] and s["view"]["planned"] and
                        _planned(s, "ring:order=contiguous"), "the plan of a second setting")
        said = _said(world, window, "ring", "ring:order=contiguous", "--set", "strategy.ring.order=zigzag")["strategies"]
        for text, one in zip(("ring", "ring:order=contiguous"), said):
            assert _planned(window.state, text)["imbalance_ratio"] == one["imbalance_ratio"], (text, one)
        # None is chosen: said, and nothing can be run.
        window.click("setting 2/remove", rest=False)
        for name in ("ring", "ulysses"):
            window.click(f"strategies/{name}/chosen", rest=False)
        window.wait_for(lambda s: window.item("actions/start")["disabled"] and window.says("no strategy is chosen"), "a reason")
        # All settings worth comparing: what the program chooses.
        window.click("strategies/all", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and s["view"]["strategies"] and s["view"]["strategies"][0]["asked"] == "all", "all", 60)
        labels = [s["label"] for s in window.view["strategies"]]
        assert labels == [s["label"] for s in _said(world, window, "all", "--set", "strategy.ring.order=zigzag")["strategies"]]
        assert all(label in window.texts() for label in labels)


def _planned(state, text):
    return next((s for s in state["view"]["strategies"] or [] if s["asked"] == text), None)


def _said(world, window, *strategies):
    """What `spscope plan` says of the config of the form under these strategies; words that are none are arguments."""
    words, rest = shlex.split(window.view["command"])[2:], []
    for option, value in zip(words, words[1:]):
        if option == "--set" and not value.startswith("strategy."):
            rest += [option, value]
    plain = list(strategies)
    if "--set" in plain:
        rest += plain[plain.index("--set"):]
        plain = plain[:plain.index("--set")]
    return world.json_of("plan", "--json", *rest, *sum((["-s", s] for s in plain), []))


def run_copy(world):
    with _place(world, "run copy") as place:
        window = place.window()
        _take(window, "done", "copied $x 'y'.db")
        wanted = world.json_of("plan", "--json", place.config / "spscope/presets/done.toml")["config_hash"]
        window.click("actions/copy command")
        line = window.clipboard("form/search")
        assert line.startswith("spscope run ") and line == window.view["command"]
        shell = {**os.environ, **place.environment, "PATH": f"{world.binaries}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", line], cwd=place.scratch, env=shell, check=True, capture_output=True)
        _same_config(world, place.output("copied $x 'y'.db"), wanted)
        # The window's own run of it.
        _type(window, "actions/output", "own.db")
        window.click("actions/start", rest=False)
        window.wait_for(lambda s: s["view"]["queue"], "the run")
        _ended(window, 1, "done")
        _same_config(world, place.output("own.db"), wanted)
        window.click("set up", rest=False)
        # A config file.
        toml, job = place.output("kept.toml"), place.output("job.sbatch")
        window.click("actions/save toml")
        _type(window, "actions/save path", str(toml))
        window.click("actions/save")
        assert world.json_of("plan", "--json", toml)["config_hash"] == wanted
        # A job for Slurm, with a srun that only runs what it is given.
        _type(window, "actions/output", str(place.output("job.db")))
        window.click("actions/save sbatch")
        _type(window, "actions/save path", str(job))
        window.click("actions/save")
        subprocess.run(["bash", "-n", job], check=True)
        srun = place.scratch / "bin/srun"
        srun.parent.mkdir()
        srun.write_text('#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nexec "$@"\n', encoding="utf-8")
        srun.chmod(0o755)
        done = subprocess.run(["bash", job], cwd=place.scratch, capture_output=True, text=True,
                              env={**shell, "PATH": f"{srun.parent}:{shell['PATH']}", "SLURM_JOB_ID": "7"})
        assert done.returncode == 0, done.stderr
        _same_config(world, place.output("job.db"), wanted)


def _same_config(world, path, wanted):
    found = {row[0] for row in world.sql(path, "SELECT DISTINCT config_hash FROM workload")}
    assert found == {wanted}, (found, wanted)


# -- runs

def run_queue(world):
    with _place(world, "run queue") as place:
        window = place.window()
        first = _start(window, "steps", "first.db")
        window.wait_for(lambda s: _run_of(s, first)["state"] == "running", "the first run")
        second, third = _start(window, "done", "second.db"), _start(window, "done", "third.db")
        window.wait_for(lambda s: window.has("list/run 2") and window.has("list/run 3"), "the runs in the list")
        assert [_run_of(window.state, n)["state"] for n in (second, third)] == ["waiting", "waiting"]
        assert len(place.processes()) == 1, place.processes()
        window.click(f"list/run {second}", rest=False)
        window.click("shown/cancel", rest=False)
        _ended(window, second, "cancelled")
        window.click(f"list/run {first}", rest=False)
        window.wait_for(lambda s: window.has("shown/stop"), "Stop")
        window.click("shown/stop", rest=False)
        _ended(window, first, "stopped")
        _ended(window, third, "done")
        assert place.output("third.db").exists() and not place.output("second.db").exists()
        window.click(f"list/run {second}", rest=False)
        window.click("shown/remove", rest=False)
        window.wait_for(lambda s: _run_of(s, second) is None, "it is out of the list")
        # A window that is killed: what went on is found again, what waited is offered.
        fourth = _start(window, "steps", "fourth.db")
        window.wait_for(lambda s: _run_of(s, fourth)["state"] == "running", "the fourth run")
        _start(window, "done", "fifth.db")
        _until(lambda: list(place.settings.parent.glob("waiting-*.json")), "the run that waits is kept")
        window.kill()
        assert len(place.processes()) == 1, "the run ended with its window"
        again = place.window()
        again.wait_for(lambda s: again.says("A run still waited when the window was closed: fifth.db"), "the run that waited")
        again.click("left/add", rest=False)
        again.wait_for(lambda s: s["view"]["queue"] and s["view"]["queue"][0]["state"] == "done", "the run that had waited")
        assert place.output("fifth.db").exists() and not list(place.settings.parent.glob("waiting-*.json"))
        again.wait_for(lambda s: again.find(f"found {place.output('fourth.db')}"), "the run that goes on")
        again.click(f"found {place.output('fourth.db')}", rest=False)
        again.wait_for(lambda s: again.has("found/stop"), "Stop")
        again.click("found/stop", rest=False)
        place.none_is_left()
        assert _events(world, place.output("fourth.db")) > 0


def run_running(world):
    with _place(world, "run running") as place:
        window = place.window()
        number = _start(window, "one", "threads.db")
        _follows(window, number)
        # The picture stands still, and follows again.
        window.click("live/zoom in", rest=False)
        window.wait_for(lambda s: (t := s["view"]["timeline"]) and t["end_ns"] - t["begin_ns"] < 0.7 * t["newest_ns"], "closer")
        window.click("live/follow", rest=False)
        still = window.wait_for(lambda s: (t := s["view"]["timeline"]) and not t["follow"] and t, "Follow is off")
        later = _live(window, still["events"] + 500)
        assert (still["begin_ns"], still["end_ns"]) == (later["begin_ns"], later["end_ns"]), (still, later)
        window.click("live/follow", rest=False)
        window.wait_for(lambda s: s["view"]["timeline"]["end_ns"] > later["end_ns"], "the newest events")
        before = window.view["timeline"]
        window.wheel("live/strips", up=True, times=3)
        window.wait_for(lambda s: s["view"]["timeline"]["end_ns"] - s["view"]["timeline"]["begin_ns"] < before["end_ns"] - before["begin_ns"], "closer by the wheel")
        # What a rank does, under the pointer.
        window._move(*window.point(window.item("live/strips"), (0.4, 0.25)))
        window.wait_for(lambda s: any(t.startswith("rank 0 at ") for t in window.texts()) and any(t.startswith("now: ") for t in window.texts()),
                        "what rank 0 does")
        window.click("shown/stop", rest=False)
        _ended(window, number, "stopped")
        # Two processes of MPI.
        window.click("set up", rest=False)
        _take(window, "one")
        _type(window, "form/search", "run.backend")
        _type(window, "run.backend/value", "mpi")
        _type(window, "form/search", "")
        window.wait_for(lambda s: s["view"]["planned"] or s["view"]["problems"], "the plan over MPI")
        if window.view["problems"]:
            assert "MPI" in window.view["problems"][0]["message"], window.view["problems"]
            return f"threads pass; {window.view['problems'][0]['message']}"
        _type(window, "actions/output", "mpi.db")
        window.wait_for(lambda s: s["view"]["planned"], "the plan over MPI")
        window.click("actions/start", rest=False)
        number = window.wait_for(lambda s: len(s["view"]["queue"]) == 2 and s["view"]["queue"][1]["number"], "the run over MPI")
        _follows(window, number)
        window.click("shown/stop", rest=False)
        _ended(window, number, "stopped")
    return None


def _follows(window, number):
    """Phase, progress, ranks and the timeline of a run that goes on."""
    first = _live(window)
    more = _live(window, first["events"] + 500)
    assert more["newest_ns"] > first["newest_ns"] and [r["rank"] for r in more["ranks"]] == [0, 1]
    assert _run_of(window.state, number)["state"] == "running"
    assert all(rank["busy_buckets"] > 0 for rank in more["ranks"]) and window.has("live/rank 0") and window.has("live/rank 1")
    window.wait_for(lambda s: (p := _run_of(s, number)["progress"]) and p["phase"] == "run" and p["repeat"] > 0, "the phase run")
    window.wait_for(lambda s: any("running ring" in t and "plans done" in t for t in window.texts()), "progress in words")
    window.wait_for(lambda s: any(" left; " in t for t in window.texts()), "the time that is left")
    window.wait_for(lambda s: any(t.endswith(" dropped") for t in window.texts()), "the counts of events")


def run_stop(world):
    with _place(world, "run stop") as place:
        window = place.window()
        # Between two layer passes: what was complete is kept.
        number = _start(window, "steps", "kept.db")
        _live(window, 50)
        child, = place.processes()
        window.click("shown/stop", rest=False)
        run = _ended(window, number, "stopped")
        assert run["exit_code"] == 1 and run["why"], run
        window.wait_for(lambda s: window.has("shown/open"), "Open")
        assert _events(world, place.output("kept.db")) > 0
        assert not Path(f"/proc/{child[0]}").exists()
        # In each phase that is seen: it ends by itself, says why, and leaves no folder behind.
        seen = set()
        for phase, preset in (("input", "steps"), ("plan", "steps"), ("run", "one"), ("run", "steps")):
            number = _start(window, preset, f"{phase}-{preset}.db")
            window.wait_for(lambda s: _run_of(s, number)["state"] == "running", "it goes on")
            if phase == "run":
                window.wait_for(lambda s: (p := _run_of(s, number)["progress"]) and p["phase"] == "run", phase)
            elif phase == "plan":
                window.wait_for(lambda s: _run_of(s, number)["progress"], phase)
            window.click("shown/stop", rest=False)
            run = _ended(window, number, "stopped")
            seen.add((run["progress"] or {}).get("phase"))
            assert run["why"], run
            place.none_is_left()
        assert not [f for f in place.scratch.iterdir() if f.is_dir()], list(place.scratch.iterdir())
        # Stop now: it ends without the merge; what was recorded is there, and Recover makes a file of it.
        number = _start(window, "one", "now.db")
        _live(window, 2000)
        child, = place.processes()
        os.kill(child[0], signal.SIGSTOP)  # it cannot answer the first signal
        window.click("shown/stop", rest=False)
        window.wait_for(lambda s: window.has("shown/stop now") and not window.item("shown/stop now")["disabled"], "Stop now, a second later")
        window.click("shown/stop now", rest=False)
        os.kill(child[0], signal.SIGCONT)
        _ended(window, number, "stopped")


def run_closing(world):
    with _place(world, "run closing") as place:
        window = place.window()
        number = _start(window, "steps", "left.db")
        _live(window)
        window.press("Ctrl+Q", rest=False)
        window.wait_for(lambda s: window.has("quit/leave") and window.says("left.db goes on"), "the question")
        window.click("quit/cancel", rest=False)
        window.wait_for(lambda s: not window.has("quit/leave"), "no question")
        assert _run_of(window.read(), number)["state"] == "running"
        window.press("Ctrl+Q", rest=False)
        window.wait_for(lambda s: window.has("quit/leave"), "the question")
        window.point(window.item("quit/leave"))
        _last_click(window, "quit/leave")
        child, = place.processes()
        # Found again by the next window, which stops it and is closed after its merge.
        again = place.window("#start")
        again.wait_for(lambda s: again.find(f"run {place.output('left.db')}"), "the run that goes on")
        again.click(f"run {place.output('left.db')}", rest=False)
        _live(again)
        again.click("found/stop", rest=False)
        _until(lambda: not Path(f"/proc/{child[0]}").exists(), "the end of the run")
        assert _events(world, place.output("left.db")) > 0
        again.wait_for(lambda s: again.has("run/open"), "Open")
        number = _start(again, "steps", "stopped.db")
        _live(again)
        again.press("Ctrl+Q", rest=False)
        again.wait_for(lambda s: again.has("quit/stop"), "the question")
        _last_click(again, "quit/stop")
        assert not place.processes() and _events(world, place.output("stopped.db")) > 0


def _last_click(window, name):
    """A click that ends the window, sooner or later."""
    x, y = window.point(window.item(name))
    window._move(x, y)
    window._xdotool("click", 1)
    window.process.wait(30)
    assert window.process.returncode == 0 and not window.said(), window.said()


def run_recover(world):
    with _place(world, "run recover") as place:
        window = place.window()
        # The child is killed: why, Recover, and the file opens.
        number = _start(window, "one", "killed.db")
        seen = _live(window, 2000)["events"]
        child, = place.processes()
        os.kill(child[0], signal.SIGKILL)
        run = _ended(window, number, "failed")
        assert "signal 9" in run["why"], run
        window.wait_for(lambda s: window.says("signal 9"), "why")
        committed = _committed(place)
        assert committed >= seen, (committed, seen)
        window.wait_for(lambda s: window.has("shown/recover"), "Recover")
        window.click("shown/recover", rest=False)
        window.wait_for(lambda s: len(s["view"]["queue"]) == 2, "recover in the queue")
        _ended(window, 2, "done")
        assert _events(world, place.output("killed.db")) == committed
        window.click("shown/open", rest=False)
        window.wait_for(lambda s: "killed.db#overview" in s["link"], "the recovered file")
        window.click("rail/views/run", rest=False)
        # The disk is full: the child can write no file beyond some size. What was recorded until then is kept.
        resource.prlimit(window.process.pid, resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
        number = _start(window, "one", "full.db")
        run = _ended(window, number, "failed")
        assert run["why"].startswith("SPS-154: cannot write") and "bytes" in run["why"], run
        window.wait_for(lambda s: "up to then are kept" in " ".join(window.texts()), "what is kept")
        window.wait_for(lambda s: window.has("shown/open"), "Open")
        assert _events(world, place.output("full.db")) > 0


def _committed(place):
    shards = [sqlite3.connect(f"file:{path}?mode=ro", uri=True) for path in place.scratch.glob("*/*.rank-*.db")]
    count = sum(shard.execute("SELECT sum(count) FROM chunk").fetchone()[0] or 0 for shard in shards)
    for shard in shards:
        shard.close()
    return count


# -- what the page Start knows of runs

def start_runs_going_on(world):
    with _place(world, "start going on") as place:
        out = place.begin("outside.db", "steps")
        window = place.window("#start")
        window.wait_for(lambda s: {"out": str(out), "goes_on": True} in s["view"]["runs"], "the run")
        assert window.says("goes on: follow it, or stop it")
        window.click(f"run {out}", rest=False)
        _live(window)
        window.wait_for(lambda s: window.says("begun") and window.has("live/rank 1"), "when it began, and its ranks")
        window.click("found/stop", rest=False)
        place.none_is_left()
        window.wait_for(lambda s: window.has("run/open"), "Open")
        assert _events(world, out) > 0


def start_recover(world):
    with _place(world, "start recover") as place:
        out = place.begin("died.db", "one")
        _until(lambda: _committed(place) > 500, "events of the run")
        place.children[0].kill()
        place.children[0].wait()
        committed = _committed(place)
        window = place.window("#start")
        window.wait_for(lambda s: {"out": str(out), "goes_on": False} in s["view"]["runs"], "the run that died")
        assert window.says("died: recover what it left")
        window.click(f"run {out}", rest=False)
        window.wait_for(lambda s: window.has("found/recover"), "Recover")
        window.click("found/recover", rest=False)
        window.wait_for(lambda s: s["view"]["queue"] and s["view"]["queue"][0]["state"] == "done", "the recovered file")
        assert _events(world, out) == committed
        window.click("shown/open", rest=False)
        window.wait_for(lambda s: "died.db#overview" in s["link"], "the recovered file is open")
