"""Features of the view Run, the page of runs, and of what the page Start knows of them: runs that wait, go on, are
stopped, die and are recovered. They are those of the real program, started by the window or found by it.
"""
import json
import os
import resource
import signal
import statistics
import subprocess
import time
from pathlib import Path

from run_place import committed_in, ended, events_of, live, place_of, run_of, start_run, type_into, until
from window import TIMEOUT_S


def run_queue(world):
    """A run that waits can be cancelled and removed, and outlives its window: the next one offers it."""
    with place_of(world, "run queue") as place:
        window = place.window()
        first = start_run(window, "steps", "first.db")
        window.wait_for(lambda s: run_of(s, first)["state"] == "running", "the first run")
        second = start_run(window, "done", "second.db")
        assert run_of(window.state, second)["state"] == "waiting" and len(place.processes()) == 1, place.processes()
        window.click(f"list/run {second}", rest=False)
        window.click("shown/cancel", rest=False)
        ended(window, second, "cancelled")
        window.click("shown/remove", rest=False)
        window.wait_for(lambda s: run_of(s, second) is None, "it is out of the list")
        start_run(window, "done", "third.db")
        until(lambda: list(place.settings.parent.glob("waiting-*.json")), "the run that waits is kept")
        window.kill()
        child, = place.processes()
        again = place.window()
        again.wait_for(lambda s: again.says("A run still waited when the window was closed: third.db"), "the run that waited")
        again.click("left/add", rest=False)
        again.wait_for(lambda s: s["view"]["queue"] and s["view"]["queue"][0]["state"] == "done", "the run that had waited")
        assert place.output("third.db").exists() and not list(place.settings.parent.glob("waiting-*.json"))
        assert not place.output("second.db").exists()
        os.kill(child[0], signal.SIGTERM)


def run_running(world):
    """Phase, progress, ranks and the timeline of a run that goes on, whose events are on the screen within a second."""
    with place_of(world, "run running") as place:
        window = place.window()
        number = start_run(window, "one", "threads.db")
        first = live(window)
        # The first look may still have shown the run before.
        more = window.wait_for(lambda s: (t := s["view"]["timeline"]) and t["events"] >= first["events"] + 500 and
                               t["newest_ns"] > first["newest_ns"] and t, "the run goes on", 60)
        assert [r["rank"] for r in more["ranks"]] == [0, 1] and run_of(window.state, number)["state"] == "running"
        # Lanes are written as their chunks fill, so the first events may all be of one rank.
        window.wait_for(lambda s: all(rank["busy_buckets"] > 0 for rank in s["view"]["timeline"]["ranks"]), "work of both ranks")
        assert window.has("live/rank 0") and window.has("live/rank 1")
        window.wait_for(lambda s: (p := run_of(s, number)["progress"]) and p["phase"] == "run" and p["repeat"] > 0, "the phase run")
        for words in (("running ring", "plans done"), (" left; ",), (" events recorded", " in its files, none lost")):
            window.wait_for(lambda s: any(all(w in t for w in words) for t in window.texts()), " and ".join(words))
        # What the ranks had recorded at some moment, by their own counts, is there a second later.
        waited = []
        for _ in range(5):
            recorded = world.json_of("watch", place.output("threads.db"), "--once", "--json")["events"]
            begin = time.monotonic()
            live(window, recorded)
            waited.append(time.monotonic() - begin)
        assert statistics.median(waited) < 1, waited
        # The picture stands still, and follows again.
        window.click("live/zoom in", rest=False)
        window.wait_for(lambda s: (t := s["view"]["timeline"]) and t["end_ns"] - t["begin_ns"] < 0.7 * t["newest_ns"], "closer")
        window.click("live/follow", rest=False)
        still = window.wait_for(lambda s: (t := s["view"]["timeline"]) and not t["follow"] and t, "Follow is off")
        later = live(window, still["events"] + 500)
        assert (still["begin_ns"], still["end_ns"]) == (later["begin_ns"], later["end_ns"]), (still, later)
        window.click("live/follow", rest=False)
        window.wait_for(lambda s: s["view"]["timeline"]["end_ns"] > later["end_ns"], "the newest events")
        length = lambda state: state["view"]["timeline"]["end_ns"] - state["view"]["timeline"]["begin_ns"]
        before = length(window.state)
        window.wheel("live/strips", up=True, times=3)
        window.wait_for(lambda s: length(s) < before, "closer by the wheel")
        # What a rank does, under the pointer.
        window._move(*window.point(window.item("live/strips"), (0.4, 0.25)))
        window.wait_for(lambda s: any(t.startswith("rank 0 at ") for t in window.texts()) and any(t.startswith("now: ") for t in window.texts()),
                        "what rank 0 does")
        window.click("shown/stop", rest=False)
        ended(window, number, "stopped")


def run_stop(world):
    with place_of(world, "run stop") as place:
        window = place.window()
        # Between two layer passes: what was complete is kept.
        number = start_run(window, "steps", "kept.db")
        live(window, 50)
        child, = place.processes()
        window.click("shown/stop", rest=False)
        run = ended(window, number, "stopped")
        assert run["exit_code"] == 1 and run["why"], run
        window.wait_for(lambda s: window.has("shown/open"), "Open")
        assert events_of(world, place.output("kept.db")) > 0
        assert not Path(f"/proc/{child[0]}").exists()
        # It reads as what the user did, not as a fault, and goes on: what was kept stays, the rest is run again.
        said = " ".join(i["text"] for i in window.items)
        assert "You stopped this run. What was complete by then is kept" in said and "are kept" in said, said
        assert "SPS-" not in said and "exit code" not in said, said
        kept = place.output("kept.db").read_bytes()
        window.click("shown/again", rest=False)
        window.wait_for(lambda s: window.has("shown/stop") and len(s["view"]["queue"]) == 2, "the run anew")
        again = window.view["queue"][1]["number"]
        window.wait_for(lambda s: (p := run_of(s, again)["progress"]) and p["done"] > 20, "layer passes of the run anew")
        window.click("shown/stop", rest=False)
        assert events_of(world, ended(window, again, "stopped")["out"]) > 0 and place.output("kept.db").read_bytes() == kept
        # In each phase: it ends by itself, says why, and keeps the layer passes that were complete.
        for phase in ("input", "reference", "plan", "run", "check"):
            number = start_run(window, "checked", f"{phase}.db")
            child = _hold_in(world, place, phase, f"{phase}.db")
            window.click("shown/stop", rest=False)
            window.wait_for(lambda s: run_of(s, number)["state"] == "stopping", "it is asked to stop")
            os.kill(child, signal.SIGCONT)
            run = ended(window, number, "stopped")
            assert run["why"], run
            place.none_is_left()
        assert not [f for f in place.scratch.iterdir() if f.is_dir()], list(place.scratch.iterdir())
        # While it merges, and then at once: either the file is whole, or Recover makes it.
        number = start_run(window, "steps", "merge.db")
        live(window, 2000)
        child, = place.processes()
        window.click("shown/stop", rest=False)
        _hold_in(world, place, "merge", "merge.db")
        window.wait_for(lambda s: window.has("shown/stop now") and not window.item("shown/stop now")["disabled"], "Stop now, a second later")
        window.click("shown/stop now", rest=False)
        os.kill(child[0], signal.SIGCONT)
        ended(window, number, "stopped")
        place.none_is_left()
        if not place.output("merge.db").exists():
            committed = committed_in(place)
            window.wait_for(lambda s: window.has("shown/recover"), "Recover")
            window.click("shown/recover", rest=False)
            window.wait_for(lambda s: s["view"]["queue"][-1]["state"] == "done", "the recovered file")
            assert events_of(world, place.output("merge.db")) == committed
        assert events_of(world, place.output("merge.db")) > 0


def _hold_in(world, place, phase, name):
    """Lets the run go on in steps of milliseconds until it is in a phase, and leaves it stopped by a signal; its process."""
    end = time.monotonic() + 2 * TIMEOUT_S
    while time.monotonic() < end:
        if processes := place.processes():
            child = processes[0][0]
            os.kill(child, signal.SIGSTOP)
            seen = subprocess.run([world.spscope, "watch", place.output(name), "--once", "--json"], capture_output=True, text=True).stdout
            if seen and (json.loads(seen).get("progress") or {}).get("phase") == phase:
                return child
            os.kill(child, signal.SIGCONT)
        time.sleep(0.002)
    raise AssertionError(f"{name} was not seen in the phase {phase}")


def run_closing(world):
    """Closing asks what becomes of the run. One that is left goes on: the page Start finds it, follows it and stops it."""
    with place_of(world, "run closing") as place:
        window = place.window()
        out = place.output("left.db")
        number = start_run(window, "steps", "left.db")
        live(window)
        window.press("Ctrl+Q", rest=False)
        window.wait_for(lambda s: window.has("quit/leave") and window.says("left.db goes on"), "the question")
        window.click("quit/cancel", rest=False)
        window.wait_for(lambda s: not window.has("quit/leave"), "no question")
        assert run_of(window.read(), number)["state"] == "running"
        _quit(window, "quit/leave")
        child, = place.processes()
        again = place.window("#start")
        again.wait_for(lambda s: {"out": str(out), "goes_on": True} in s["view"]["runs"], "the run that goes on")
        assert again.says("goes on: follow it, or stop it")
        again.click(f"run {out}", rest=False)
        live(again)
        again.wait_for(lambda s: again.says("begun") and again.has("live/rank 1"), "when it began, and its ranks")
        again.click("found/stop", rest=False)
        until(lambda: not Path(f"/proc/{child[0]}").exists(), "the end of the run")
        assert events_of(world, out) > 0
        again.wait_for(lambda s: again.has("run/open"), "Open")
        number = start_run(again, "steps", "stopped.db")
        live(again)
        _quit(again, "quit/stop")
        assert not place.processes() and events_of(world, place.output("stopped.db")) > 0


def run_recover(world):
    with place_of(world, "run recover") as place:
        window = place.window()
        # The child is killed: why, Recover, and the file opens.
        number = start_run(window, "one", "killed.db")
        seen = live(window, 2000)["events"]
        child, = place.processes()
        os.kill(child[0], signal.SIGKILL)
        run = ended(window, number, "failed")
        assert "signal 9" in run["why"], run
        window.wait_for(lambda s: window.says("signal 9"), "why")
        committed = committed_in(place)
        assert committed >= seen, (committed, seen)
        window.wait_for(lambda s: window.has("shown/recover"), "Recover")
        assert window.item("shown/recover to")["value"] == str(place.output("killed.db"))
        elsewhere = place.folder / "elsewhere.db"  # as on a disk with room
        type_into(window, "shown/recover to", str(elsewhere))
        window.click("shown/recover", rest=False)
        window.wait_for(lambda s: len(s["view"]["queue"]) == 2, "recover in the queue")
        ended(window, 2, "done")
        assert events_of(world, elsewhere) == committed and not place.output("killed.db").exists()
        window.click("shown/open", rest=False)
        window.wait_for(lambda s: "elsewhere.db#overview" in s["link"], "the recovered file")
        window.click("rail/views/run", rest=False)
        # The disk is full: the child can write no file beyond some size. What was recorded until then is kept.
        resource.prlimit(window.process.pid, resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
        number = start_run(window, "one", "full.db")
        run = ended(window, number, "failed")
        assert run["why"].startswith("SPS-154: cannot write") and "bytes" in run["why"], run
        window.wait_for(lambda s: "up to then are kept" in " ".join(window.texts()), "what is kept")
        window.wait_for(lambda s: window.has("shown/open"), "Open")
        assert events_of(world, place.output("full.db")) > 0


# -- what the page Start knows of runs

def start_recover(world):
    """What a run has left that died with its window."""
    with place_of(world, "start recover") as place:
        window = place.window()
        start_run(window, "one", "died.db")
        live(window, 500)
        window.kill()
        (child, _), = place.processes()
        os.kill(child, signal.SIGKILL)
        place.none_is_left()
        out, committed = place.output("died.db"), committed_in(place)
        window = place.window("#start")
        window.wait_for(lambda s: {"out": str(out), "goes_on": False} in s["view"]["runs"], "the run that died")
        assert window.says("died: recover what it left")
        window.click(f"run {out}", rest=False)
        window.wait_for(lambda s: window.has("found/recover"), "Recover")
        window.click("found/recover", rest=False)
        window.wait_for(lambda s: s["view"]["queue"] and s["view"]["queue"][0]["state"] == "done", "the recovered file")
        assert events_of(world, out) == committed, (events_of(world, out), committed)
        window.click("shown/open", rest=False)
        window.wait_for(lambda s: "died.db#overview" in s["link"], "the recovered file is open")


def _quit(window, answer):
    """The window ends, sooner or later."""
    window.press("Ctrl+Q", rest=False)
    window.wait_for(lambda s: window.has(answer), "the question")
    window._move(*window.point(window.item(answer)))
    window._xdotool("click", 1)
    window.process.wait(TIMEOUT_S)
    assert window.process.returncode == 0 and not window.said(), window.said()
