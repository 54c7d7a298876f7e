"""Files of many events and of many layer passes: questions and frames are counted, not timed (bench/gui/measure does that).
gui.md 1, 4 and 5."""
import shutil
import sqlite3
import subprocess
import time

from world import views

EVENTS, RANKS = 1_000_000, 64
PROGRESS_EVERY_S = 0.1  # of desktop.cpp
MOST_MARKS = 10_000  # rectangles of a draw list
PASSES = 500  # of each strategy


def _million(world):
    path, bench = world.folder / "million.db", world.binaries / "gui_files_bench"
    if bench.exists() and not path.exists():
        subprocess.run([bench, "events", path, "--events", str(EVENTS), "--ranks", str(RANKS)], check=True)
    return path if bench.exists() else None


def _many_passes(world):
    """A stored run whose layer passes are copies of one, which takes seconds to read."""
    path = world.folder / "many.db"
    if path.exists():
        return path
    # On 64 ranks it takes milliseconds to read a layer pass.
    one = world.run("one-pass.db", "model.grid=3,6,7", "mask.block=16", "cluster.preset=ndr-h100-xN", "cluster.ranks=64",
                    'run.strategies=["ring", "usp:ulysses=8,ring=8"]', "run.layers=1", "run.denoise_steps=1")
    shutil.copy(one, path)
    store = sqlite3.connect(path)
    (runs,), = store.execute("select max(run_id) from run")
    changed = {"run_id": f"run_id + k * {runs}", "denoise_step": "k", "chunk_id": "null", "seq": "seq + k * (select max(seq) + 1 from chunk)"}
    store.execute("create temp table copy as with recursive n(k) as (select 1 union all select k + 1 from n) select k from n limit ?", (PASSES - 1,))
    for table, in store.execute("select name from sqlite_master where type = 'table'").fetchall():
        columns = [row[1] for row in store.execute(f"pragma table_info({table})")]
        if "run_id" in columns:
            store.execute(f"insert into {table} select {', '.join(changed.get(c, c) for c in columns)} from {table}, copy")
    store.commit()
    store.close()
    return path


def _idle(window, seconds):
    before = window.read()
    time.sleep(seconds)
    after = window.read()
    assert (after["frame"], after["answered"]) == (before["frame"], before["answered"]), (window.link, before["frame"], after["frame"])


def _of_progress(begin):
    """As many frames as the window has drawn since then to say that a question is under way, at the most."""
    return (time.monotonic() - begin) / PROGRESS_EVERY_S


def million_events_cost_little(world):
    """Of a million events as few questions are asked as of a thousand: strips for all ranks at once, one chunk more at the
    edge of what is shown; and no more rectangles are drawn than a list holds."""
    path = _million(world)
    if path is None:
        return "gui_files_bench is not built (SPSCOPE_BUILD_EXTENDED)"
    begin = time.monotonic()
    window = world.open(f"{path}#timeline?time=file")
    opened = window.state
    assert opened["view"]["bands"][0]["ranks"] == list(range(RANKS)) and opened["view"]["bands"][0]["drawn"] == "strips"
    assert opened["answered"] <= 10 and opened["frame"] <= 4 * opened["answered"] + 10 + _of_progress(begin), (opened["answered"], opened["frame"])
    drawn = set()
    for key in ("W",) * 12 + ("D", "D", "A") + ("Shift+W",) * 5 + ("D", "D", "A"):
        before, begin = window.state, time.monotonic()
        window.press(key)
        asked, frames = window.state["answered"] - before["answered"], window.state["frame"] - before["frame"]
        assert asked <= 6 and frames <= 12 + 4 * asked + _of_progress(begin), (key, asked, frames)
        marks = sum(i["kind"] == "mark" for i in window.items)
        assert marks <= MOST_MARKS, (key, marks)
        drawn.add(window.view["bands"][0]["drawn"])
    assert drawn == {"strips", "events"}, drawn
    _idle(window, 2.5)
    window.close()


def idle_windows_draw_nothing(world):
    """Longer than the window lets pass between two looks at its files."""
    window = world.window()
    for view, _, _ in views():
        window.click("rail/views/" + view)
        _idle(window, 1.3)


def _makespans(view):
    return next(({s["id"]: (s["layer_passes"], s["makespan_ns"]) for s in one["makespans"]} for one in view if "makespans" in one), None)


def overview_progress(world):
    """Makespans of many layer passes are there at once and stay the same; how far the rest is, is told until it is there."""
    path = _many_passes(world)
    window = world.open(f"{path}#overview", rest=False)
    early = window.wait_for(lambda s: s["busy"] and any("makespans " in i["path"] for i in s["items"]) and _makespans(s["view"]),
                            "makespans on the screen while the file is read")
    assert early == {strategy: (count, ns) for strategy, count, ns in world.sql(
        path, "select strategy.id, count(*), sum(makespan_ns) from repeat join run using (run_id) join strategy using (strategy_id) group by 1")}
    told = set()

    def whole(state):
        told.update(i["text"] for i in state["items"] if i["path"].endswith("/loading") and i["text"].endswith(" %"))
        return not state["busy"]
    window.wait_for(whole, "all figures", 120)
    assert len(told) > 1 and all(t.startswith("Reading many.db") for t in told), told
    strategies = window.view[0]["result"]["strategies"]
    assert {s["id"]: (PASSES, s["makespan_ns"]) for s in strategies} == early
    window.close()


def loading_cancel(world):
    """Reading is given up at a click: what was there stays, and it can be asked for again."""
    window = world.open(f"{_many_passes(world)}#overview", rest=False)
    window.wait_for(lambda s: window.has("loading/cancel") and _makespans(s["view"]), "words and Cancel")
    window.click("loading/cancel", rest=False)
    window.wait_for(lambda s: not s["busy"] and window.has("given up/action"), "the reading ends")
    assert window.says("many.db was not read to its end.") and not any("result" in one for one in window.view), window.view
    assert _makespans(window.view), "makespans stay"
    window.click("given up/action", rest=False)
    window.wait_for(lambda s: s["busy"] and window.has("loading/cancel"), "it is read again")
    window.close()
