"""What the window says of files that are not whole, of what is missing in them, and of the desktop it is on: gui.md 1
to 3."""
import collections
import json
import re
import subprocess

from window import seen


def partly_there(world):
    """What is wrong with a run stands in banners above each view, once, in the words of the report, and no winner is named
    where it names none."""
    files = {"nterrupted after": world.changed_copy("interrupted.db", "update workload set denoise_steps = denoise_steps + 2"),
             "not in the file": world.changed_copy("missing.db", "update ledger set sent = sent + 12, dropped = dropped + 12 where track_id = 1"),
             "cores": world.changed_copy("oversubscribed.db", "update run set timing = 1"),
             "The machine was busy": world.changed_copy("disturbed.db", "update repeat set makespan_ns = makespan_ns * (1 + repeat)",
                                                           "update run set timing = 0", of=world.executed),
             "than the cost model": world.run("projected.db", "model.preset=wan-mini", "cluster.ranks=2", "run.mode=project",
                                                   'run.strategies=["ulysses", "ring"]', "run.repeats=2", "run.denoise_steps=1")}
    for words, path in files.items():
        window = world.open(path)
        for view in ("timeline", "heads", "balance", "compare", "overview"):
            window.click("rail/views/" + view)
            lines = {}
            for item in window.items:
                if item["kind"] == "text" and ("/warning" in item["path"] or "/nothing" in item["path"]):
                    lines.setdefault(item["path"], []).append(item)
            banners = [" ".join(item["text"] for item in items) for items in lines.values()]
            assert sum(words in banner for banner in banners) == 1, (view, words, banners)
            own = [i["rect"] for i in lines.get(view + "/main/warnings", [])]
            assert not own or view == "overview" or max(r[3] for r in own) - min(r[1] for r in own) < 30, "one line"
        report = subprocess.run([world.spscope, "report", path, "--format", "markdown"], capture_output=True, text=True, check=True).stdout
        plain = " ".join(report.replace("\\", "").replace("> ", " ").replace("*", "").split()).lower()
        assert all(one.rstrip(".").lower()[1:] in plain for banner in banners for one in banner.split(". ")), (banners, plain[:3000])
        if words in ("cores", "The machine was busy"):
            window.hover("rail/views/start")  # no row is pointed at
            backs = {i["back"] for i in window.items if i["path"].endswith("table/rows") and i["kind"] == "text"}
            told = world.json_of("report", path, "--json")
            assert (told[0] if isinstance(told, list) else told).get("best") is None and len(backs) <= 2, (words, backs)
        window.close()
    # Several are one line with their number, and are all told when it is pressed.
    window = world.open(f"{world.partly()}#timeline", size=(1280, 720))
    line = window.item("warnings/action")["rect"]
    assert window.says("3 warnings. ") and line[3] - line[1] < 40 and not window.says("not in the file")
    assert len({i["text"] for i in window.items if i["kind"] == "row" and "/rank " in i["path"] and seen(i)[3] - seen(i)[1] > 12}) == 8
    window.click("warnings/action")
    assert all(any(words in i["text"] for i in window.items if i["layer"] == 1) for words in ("nterrupted", "not in the file", "cores"))
    window.close()


def compare_has_all(world):
    """All strategies against one, with the difference of the report and a verdict; a row leads to its waterfall."""
    window = world.window("compare")
    told = {s["id"]: s for s in world.json_of("report", world.demo, "--json")["strategies"]}
    others = {o["to"]: o for o in window.view["others"]}
    assert set(others) == set(told) - {window.view["from"]}
    assert all(o["to_ns"] == told[key]["makespan_ns"] and o["verdict"] and not o["not_comparable"] for key, o in others.items()), others
    row = next(i for i in window.items if "/others/rows/row " in i["path"] and i["kind"] == "row" and i["text"] == told["ring"]["label"])
    window.click(row["path"], "row")
    assert window.view["to"] == "ring"


def heads_make_lost_thumbnails(world):
    """Thumbnails that a file has lost are made from its masks: the same ones."""
    before = world.window("heads").view["thumbnail_sums"]
    window = world.open(f"{world.changed_copy('lost.db', 'delete from mask_thumbnail')}#heads")
    assert window.says("has lost its thumbnails") and window.view["thumbnail_sums"] == []
    window.click("lost/action")
    window.wait_for(lambda s: s["view"]["thumbnail_sums"] and not s["busy"], "the thumbnails")
    assert window.view["thumbnail_sums"] == before
    window.close()


def table_has_tools_behind_a_button(world):
    """Small tables filter, hide columns and copy, too."""
    window = world.window("overview")
    rows = lambda: window.rows("table")
    window.click("table/tools")
    window.click("tools menu/filter")
    window.type("usp")
    assert rows() == ["usp u4 r2"], rows()
    window.click("tools menu/all JSON")
    assert not window.has("tools menu/filter")
    window.click("rail/views/sql")
    window.click("sql/main/question")
    window.press("Ctrl+V")
    read = json.loads(window.item("sql/main/question")["value"])
    told = next(s for s in world.json_of("report", world.demo, "--json")["strategies"] if s["id"] == "usp")
    assert len(read) == 1 and read[0]["makespan_ns"] == told["makespan_ns"], read


def _waits(told):
    """How long which rank waited for which one, by collective."""
    waits = collections.Counter()
    for wait in told:
        waits[wait["rank"], wait["late_rank"], wait["collective"]] += wait["wait_ns"]
    return waits


def view_dumps_equal_the_command_line(world):
    """Each number of --view-dump is one of `explain`, `compare` and `report --json`, to the last digit."""
    told = {s["id"]: s for s in world.json_of("explain", world.demo, "--json")["strategies"]}
    bands = world.view_dump("timeline", world.demo)["bands"]
    assert {b["strategy"] for b in bands} == set(told)
    for band in bands:
        explained = told[band["strategy"]]
        assert band["makespan_ns"] == explained["makespan_ns"]
        keys = ("op", "rank", "share", "begin_ns", "end_ns")
        steps = [{key: step[key] for key in keys} for step in explained["critical_path"]["steps"]]
        for step in steps:  # `explain` is on the clock of the stored timeline
            step["begin_ns"], step["end_ns"] = step["begin_ns"] - band["zero_ns"], step["end_ns"] - band["zero_ns"]
        assert band["critical_path"] == steps
        assert [row["wait_late_peer_ns"] for row in band["ranks"]] == explained["wait_late_peer_ns"]
        assert _waits(w for w in band["waits"] if w["collective"] != "end") == _waits(explained["waits"]), band["strategy"]
    compared = {s["id"]: s for s in world.json_of("compare", world.demo, "--json")["strategies"]}
    for one in world.view_dump("balance", world.demo):
        explained, known = told[one["strategy"]], compared[one["strategy"]]
        assert [(e["edit"], e["makespan_ns"]) for e in one["what_if"]] == [(e["edit"], e["makespan_ns"]) for e in explained["edits"]]
        keys = ("rank", "excess_ns", "more_tiles_ns", "slower_tiles_ns", "other_ns", "held_up_ns")
        assert one["stragglers"] == [{key: s[key] for key in keys} for s in explained["stragglers"]]
        assert all(one[key] == known[key] for key in ("imbalance_ratio", "barrier_imbalance_ratio", "coupled_imbalance_ratio"))
    step = world.view_dump("compare", world.demo)
    assert (step["from_ns"], step["to_ns"]) == (compared[step["from"]]["makespan_ns"], compared[step["to"]]["makespan_ns"])
    assert [c["result"] for c in world.view_dump("overview", world.demo)] == [world.json_of("report", world.demo, "--json")]


def balance_stragglers(world):
    """Who computes longest, what makes it so, and whom it held up, as explain says."""
    window = world.open(f"{world.demo}#balance?of=ulysses")
    window.wait_for(lambda s: any(one.get("stragglers") for one in s["view"]) and not s["busy"], "the explanation")
    first = next(s for s in world.json_of("explain", world.demo, "--json")["strategies"] if s["id"] == "ulysses")["stragglers"][0]
    said = window.details
    assert f"rank {first['rank']}: +" in said and "by more tiles" in said, said
    speed = first["slower_tiles_ns"]
    assert speed != 0 and (" by slower ones" in said if speed > 0 else " less by faster ones" in said), (speed, said)
    assert f"heads {first['heads']}: density" in said and f"held up {len(first['held_up'])} ranks" in said, said
    late = re.search(r"wait longest for (rank) (\d+)", said)
    window.click("details/pane/heads")
    assert "#heads" in window.link and "=".join(late.groups()) in window.link, window.link
    window.close()


def compare_leads_to_both_bands(world):
    """A step of the waterfall and a layer pass open the timelines of both."""
    window = world.window("compare")
    pair = [window.view["from"], window.view["to"]]
    window.click("waterfall/late peer", "bar")
    assert "#timeline" in window.link and {b["strategy"] for b in window.view["bands"]} == set(pair), window.link
    window.press("Alt+Left")
    row = next(i for i in window.items if "/passes/rows/row 2 " in i["path"] and i["kind"] == "row")
    window.click(row["path"], "row")
    step, layer = world.sql(world.demo, "select distinct denoise_step, layer from run order by 1, 2")[2]
    assert f"layer={layer}" in window.link and f"step={step}" in window.link and len(window.view["bands"]) == 2, window.link
