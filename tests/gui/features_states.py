"""What the window says of files that are not whole, of what is missing in them, and of the desktop it is on: gui.md 1
to 3."""
import json
import subprocess

from window import Display
from world import ROOT, commands


PROJECTED = """[model]
preset = "wan-mini"
[mask]
pattern = "sparge"
density = 0.4
[cluster]
preset = "h100x8"
ranks = 2
[run]
mode = "project"
strategies = ["ulysses", "ring"]
repeats = 2
"""


def partly_there(world):
    """What is wrong with a run stands in banners above each view, once, in the words of the report, and no winner is named
    where it names none."""
    measured = world.run("measured.db", (ROOT / "samples/st-mini.toml").read_text(encoding="utf-8").replace("repeats = 5", "repeats = 3"))
    files = {"interrupted": world.changed_copy("interrupted.db", "update workload set denoise_steps = denoise_steps + 2"),
             "not in the file": world.changed_copy("missing.db", "update ledger set sent = sent + 12, dropped = dropped + 12 where track_id = 1"),
             "cores": world.changed_copy("oversubscribed.db", "update run set timing = 1"),
             "programs disturbed this": world.changed_copy("disturbed.db", "update repeat set makespan_ns = makespan_ns * (1 + repeat)",
                                                        "update run set timing = 0", of=measured),
             "than the cost model": world.run("projected.db", PROJECTED)}
    for words, path in files.items():
        window = world.open(path)
        for view in ("timeline", "heads", "balance", "compare", "overview"):
            window.click("rail/views/" + view)
            told = {i["path"] for i in window.items if "/warning" in i["path"] and i["kind"] == "text" and words in i["text"]}
            assert len(told) == 1, (view, words, told)
        report = subprocess.run([world.spscope, "report", path, "--format", "markdown"], capture_output=True, text=True, check=True).stdout
        plain = " ".join(report.replace("\\", "").replace("> ", " ").replace("*", "").split())
        lines = {}
        for item in window.items:
            if item["kind"] == "text" and ("/warning" in item["path"] or "/nothing" in item["path"]):
                lines.setdefault(item["path"], []).append(item["text"])
        banners = [" ".join(texts) for texts in lines.values()]
        assert any(words in banner for banner in banners), (words, banners, window.texts()[:30])
        for banner in banners:
            assert banner.rstrip(".").lower()[1:] in plain.lower(), (banner, plain[:3000])
        if words in ("cores", "programs disturbed this"):
            window.hover("rail/views/start")  # no row is pointed at
            rows = [i["back"] for i in window.items if i["path"].endswith("table/rows") and i["kind"] == "text"]
            told = world.json_of("report", path, "--json")
            best = (told[0] if isinstance(told, list) else told).get("best")
            assert best is None and len(set(rows) - {rows[0]}) <= 1, (words, best, set(rows))
        window.close()


def compare_wants_a_second(world):
    """With one strategy the view says what it needs, and its button brings all back."""
    window = world.open(f"{world.demo}#compare?s=ring")
    assert window.says("A comparison needs two.")
    window.click("one/action")
    assert window.view["from"] != window.view["to"] and "s=" not in window.link
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


def heads_play_layers(world):
    """Play goes along layers where they are chosen."""
    settings = world.folder / "layers.json"
    settings.write_text(json.dumps({"less_motion": True}))
    window = world.open(f"{world.demo}#heads?layer=0&step=1", "--settings", settings)
    window.click("heads/main/along", "choice")
    window.click("along/layers")
    for layer in (1, 0):
        window.press("Space")
        window.wait_for(lambda s: not s["busy"], "the heads of the layer")
        assert f"layer={layer}" in window.link and "step=1" in window.link, window.link
    window.close()


def sql_history(world):
    window = world.window("sql")
    questions = ["select 1 as one", "select 2 as two"]
    for question, name in zip(questions, ("one", "two")):
        window.click("sql/main/question")
        window.press("Ctrl+A")
        window.type(question)
        window.click("sql/main/ask")
        window.wait_for(lambda s: s["view"].get("columns") == [name] and not s["busy"], "the answer")
    window.click("sql/main/history", "choice")
    assert [i["text"] for i in window.items if i["layer"] == 1 and i["kind"] == "button"] == ["History", *reversed(questions)]
    window.click("history/" + questions[0])
    assert window.view["question"] == questions[0]


def table_has_tools_behind_a_button(world):
    """Small tables filter, hide columns and copy, too."""
    window = world.window("overview")
    rows = lambda: [i["text"] for i in window.items if "/table/rows/row " in i["path"] and i["kind"] == "row"]
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


def menu_lists_commands(world):
    """All that can be done everywhere, with its keys; a press does it."""
    window = world.window("overview")
    window.click("rail/views/menu")
    for command, group, title, _ in commands():
        if group == "app" and not command.startswith("kView") and command != "kStart":
            assert window.item("commands/" + command)["text"] == title
    assert window.says("Ctrl+Shift+L") and window.says("F11")
    before = window.state["theme"]
    window.click("commands/kTheme")
    assert window.state["theme"] != before


def tooltips_name_keys(world):
    """Tooltips have the keys of the command table, also those that the user gave."""
    settings = world.folder / "tips.json"
    settings.write_text(json.dumps({"keys": [{"command": "kZoomIn", "keys": "Q"}]}))
    window = world.open(f"{world.demo}#timeline", "--settings", settings)
    for name, tip in (("timeline/main/zoom in", "Zoom in (Q)"), ("timeline/main/zoom out", "Zoom out (S)"), ("rail/views/heads", "Heads (Ctrl+3)")):
        window.hover(name)
        assert tip in [i["text"] for i in window.items if i["layer"] == 2], (tip, [i["text"] for i in window.items if i["layer"] == 2])
    window.close()


def theme_of_the_desktop(world):
    """At first the window is dark or light as the desktop is; what the user chooses is kept."""
    config = world.folder / "desktop-theme"
    (config / "gtk-3.0").mkdir(parents=True)
    nothing = {"XDG_CONFIG_HOME": str(config), "PATH": "/nowhere"}  # no gsettings
    for number, (environment, theme) in enumerate((({"GTK_THEME": "Adwaita:light"}, "light"), ({"GTK_THEME": "Adwaita:dark"}, "dark"),
                                                   ({"GTK_THEME": ""}, "light"))):
        if not environment["GTK_THEME"]:
            (config / "gtk-3.0/settings.ini").write_text("[Settings]\ngtk-theme-name=Adwaita\ngtk-application-prefer-dark-theme=0\n")
        settings = world.folder / f"theme-{number}.json"
        window = world.open("--settings", settings, environment={**nothing, **environment})
        assert window.state["theme"] == theme, (environment, window.state["theme"])
        window.press("Ctrl+Shift+L")
        window.close()
        again = world.open("--settings", settings, environment={**nothing, **environment})
        assert again.state["theme"] != theme
        again.close()


def no_gl_says_a_way_on(world):
    """On a display without OpenGL 3, as over ssh -X, the program says so and what to do."""
    with Display((800, 600), options=["-extension", "GLX"]) as display:
        said = subprocess.run([world.program, "--settings", "", world.demo], capture_output=True, text=True, env=display.environment, timeout=60)
    assert said.returncode != 0 and "OpenGL" in said.stderr and "--screenshot" in said.stderr, said.stderr


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
        sums = lambda waits: {(w["rank"], w["late_rank"], w["collective"]): sum(x["wait_ns"] for x in waits if (x["rank"], x["late_rank"], x["collective"]) ==
                                                                                   (w["rank"], w["late_rank"], w["collective"])) for w in waits}
        assert sums([w for w in band["waits"] if w["collective"] != "end"]) == sums(explained["waits"]), band["strategy"]
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
    said = " ".join(i["text"] for i in window.items if i["path"].startswith("details/"))
    assert f"rank {first['rank']}: +" in said and "by more tiles" in said, said
    speed = first["slower_tiles_ns"]
    assert speed != 0 and (" by slower ones" in said if speed > 0 else " less by faster ones" in said), (speed, said)
    assert f"heads {first['heads']}: density" in said and f"held up {len(first['held_up'])} ranks" in said, said
    window.click("details/pane/heads")
    assert "#heads" in window.link and f"rank={first['rank']}" in window.link, window.link
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


def timeline_marks_missing_events(world):
    """Before the row of a rank of which events are missing stands a mark, and pointing at it says how many."""
    path = world.changed_copy("gap.db", "update ledger set sent = sent + 12, dropped = dropped + 12 where track_id = 1")
    (rank,), = world.sql(path, "select rank from track where track_id = 1")
    window = world.open(f"{path}#timeline?time=file")
    window.wait_for(lambda s: window.has(f"file gap.db/rank {rank}", "row") and not s["busy"], "the rows")
    assert [i["text"] for i in window.items if i["path"].endswith("/gap")] == ["12"]
    window.hover(f"file gap.db/rank {rank}", "row")
    assert any("12 events of it are not in the file" in i["text"] for i in window.items if i["layer"] == 2)
    window.close()
