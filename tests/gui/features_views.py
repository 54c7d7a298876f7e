"""The views: gui.md 4 and 6. Numbers are compared with what the command line says of the same file."""
import json
import re
import time
import shutil
import subprocess

from window import Display, seen
from world import axis, no_display, select_op, views


# -- Start

def start_opens_by_path(world):
    """A path that is typed, which Tab completes, a file of the list and a recent one; the other ways that the page offers."""
    settings = world.folder / "recent.json"
    settings.write_text(json.dumps({"recent": ["/nowhere/gone.db"]}))
    window = world.open("--settings", settings, folder=world.folder / "listing")
    shutil.copy(world.demo, world.folder / "listing" / "listed.db")
    assert window.says("gone.db (it is not there any more)")
    window.click("copy line")
    assert any("spscope report RUN.db" in t for t in window.texts())
    window.click("start/main/browse")
    assert window.clipboard("browser/path").startswith("ssh HOST spscope report")
    window.fill("browser/path", str(world.demo)[:-3])
    window.press("Tab")
    window.wait_for(lambda s: window.item("browser/path")["value"] == str(world.demo), "Tab completes the path")
    window.click("browser/open")
    window.wait_for(lambda s: window.has("top/line/file 0/tab") and not s["busy"], "the file is open")
    assert str(world.demo) in window.link
    window.click("rail/views/start")
    window.click("start/main/browse")
    window.click("browser/files/listing")
    window.click("browser/files/listed.db")
    assert window.item("top/line/file 1/tab")["text"] == "listed.db"
    window.click("top/line/file 0/close")
    window.click("rail/views/start")
    window.click("start/main/" + str(world.demo))
    assert "#overview" in window.link and window.item("top/line/file 1/tab")["text"] == "demo.db"
    for name in ("preset 2-prove-it-here", "new run"):
        window.click("rail/views/start")
        window.click("start/main/" + name)
        assert "#run" in window.link
    assert window.item("presets/2-prove-it-here")["selected"], "the preset that was pressed"
    window.close()


def start_demo_or_why_not(world):
    """Without an installed demo the button says why it opens none."""
    program = world.folder / "bare" / "bin" / world.program.name
    program.parent.mkdir(parents=True)
    shutil.copy(world.program, program)
    window = world.open(program=program)
    assert window.item("start/main/demo")["disabled"]
    window.hover("start/main/demo")
    assert any("demo.db" in t for t in window.tooltip), window.texts()
    window.click("start/main/demo")
    assert "#start" in window.link, window.link
    window.close()


# -- Overview

def overview_hint_shows_the_rank_in_the_slowest_pass(world):
    """Show me in a small window: the band of the rank is the first, in the layer pass that explain and the scope show,
    though its strategy has a slower one. A rank of a band below is scrolled to; the user may scroll away."""
    run = world.run("slower_pass.db", "mask.seed=3")
    window = world.open(run, size=(1100, 640))
    window.click("hint/action")
    window.wait_for(lambda s: "#timeline" in s["link"] and not s["busy"], "the timeline")
    strategy, rank = (window.link.split(f"{part}=")[1].split("&")[0] for part in ("of", "rank"))
    explained = world.json_of("explain", run, "--json")
    assert (window.view["layer"], window.view["denoise_step"]) == (explained["layer"], explained["denoise_step"]), window.link
    slowest = world.sql(run, "select layer, denoise_step from run join repeat using (run_id) join strategy using (strategy_id) "
                        f"where strategy.id = '{strategy}' order by makespan_ns desc limit 1")[0]
    assert slowest != (explained["layer"], explained["denoise_step"]), "the run must have a slower pass of this strategy"
    row = f"band {strategy}/rank {rank}"
    assert window.find(row, "row") and seen(window.item(row, "row")) == tuple(window.item(row, "row")["rect"]), window.item(row, "row")
    assert window.view["bands"][0]["strategy"] == strategy
    window.press("Ctrl+P")
    window.type("strategy ring")
    window.press("Enter")
    row, first = f"band ring/rank {rank}", f"band {strategy}/rank 0"
    window.wait_for(lambda s: window.find(row, "row") and not window.find(first, "row"), "the last band")
    window.wheel(row, up=True, times=60)
    assert window.find(first, "row"), "it stays where the user scrolled"
    window.close()


# -- Timeline

def timeline_orders_rows(world):
    window = world.window("timeline?s=ulysses")
    compute = {r["rank"]: r["compute_ns"] for r in window.view["bands"][0]["ranks"]}
    for order, wanted in (("by compute", sorted(compute, key=compute.get, reverse=True)), ("by node", list(range(8)))):  # all are on one node
        window.choose("timeline/main/order", "order/" + order)
        rows = sorted((i["rect"][1], int(i["text"].split()[1])) for i in window.items if "/band ulysses/rank " in i["path"] and i["kind"] == "row")
        assert [compute[rank] for _, rank in rows] == [compute[rank] for rank in wanted], (order, rows)


def timeline_unfolds_lanes(world):
    window = world.window("timeline?s=ulysses")
    window.click("band ulysses/rank 0", kind="row", times=2)
    assert window.has("band ulysses/rank 0 lane 0"), "lanes are shown"
    time.sleep(0.5)  # else the clicks that follow are the third and the fourth
    window.click("band ulysses/rank 0", kind="row", times=2)
    assert not window.has("band ulysses/rank 0 lane 0")


def timeline_minimap(world):
    window = world.window("timeline")
    window.press("Home")
    window.press("Shift+W", "Shift+W")
    begin, end = axis(window)
    window.click("timeline/main/minimap", at=(0.85, 0.5))
    b, e = axis(window)
    assert b > begin and abs((e - b) - (end - begin)) < 2


def timeline_labels_from_24_px(world):
    window = world.window("timeline?s=ring")
    window.press("Home")
    marks = {i["path"]: i for i in window.items if i["kind"] == "mark" and "/band ring/rank 0 op" in i["path"]}
    texts = [i["rect"] for i in window.items if i["kind"] == "text" and i["path"].endswith("bands/band ring")]
    for mark in marks.values():
        left, top, right, bottom = mark["rect"]
        labelled = any(r[0] >= left and r[2] <= right + 1 and r[1] >= top - 2 and r[3] <= bottom + 4 for r in texts)
        assert labelled == (right - left >= 24) or abs(right - left - 24) < 2, (mark["path"], right - left, labelled)


def timeline_finds_a_name(world):
    """All events of a name, by rank and by ring step: as many and as long as those of the file."""
    window = world.open(f"{world.demo}#timeline?s=ring")
    assert not window.has("events/filter"), "the table is folded at first"
    window.click("tab/Events by name")
    window.click("events/rows/row 0 attend", "row")
    where = (f"from event join run using (run_id) join strategy using (strategy_id) where strategy.id = 'ring' and run.layer = {window.view['layer']} "
             f"and run.denoise_step = {window.view['denoise_step']} and event.name = 'attend'")
    (found, total), = world.sql(world.demo, f"select count(*), sum(end_ns - begin_ns) {where}")
    assert f"attend: {found} of them" in window.details, window.details
    assert any(i["path"].endswith("bin 0") for i in window.items), "the histogram is drawn"
    told = {}
    for tab, table, label in (("By rank", "ranks", "rank"), ("By ring step", "ring steps", "ring step")):
        window.click("tab/" + tab)
        shown = window.rows(table)  # those that can be seen
        assert shown and shown == [f"{label} {n}" for n in range(8)][:len(shown)], shown
        window.click(f"{table}/copy")
        window.click("copy menu/all JSON")
        told[table] = json.loads(window.clipboard(f"{table}/filter"))
    by_rank = world.sql(world.demo, f"select rank, count(*), sum(end_ns - begin_ns) {where} group by rank")
    assert {(r["rank"], r["count"], r["total_ns"]) for r in told["ranks"]} == {(f"rank {r}", n, ns) for r, n, ns in by_rank}
    assert [r["count"] for r in told["ring steps"]] == [8] * 8 and sum(r["total_ns"] for r in told["ring steps"]) == total
    window.close()


def timeline_goes_to_the_late_rank(world):
    window = world.window("timeline?s=ulysses")
    window.press("Home")
    waits = [i for i in window.items if i["kind"] == "mark" and "/band ulysses/rank " in i["path"] and i["path"].endswith(" 1")]
    widest = max(waits, key=lambda i: i["rect"][2] - i["rect"][0])
    window.click(widest["path"], first=True)
    selected = next(b["selected"] for b in window.view["bands"] if "selected" in b)
    assert window.item("go to late rank")["text"] == f"Go to rank {selected['late_rank']}"
    window.click("go to late rank")
    assert f"rank={selected['late_rank']}" in window.link


def timeline_matrix(world):
    window = world.window("timeline")
    window.click("tab/Ranks and layer passes")
    window.wait_for(lambda s: any("/cell " in i["path"] for i in s["items"]), "the matrix")
    cells = [i for i in window.items if "/cell " in i["path"]]
    assert len(cells) == 6 * 8, len(cells)
    # Columns are named, and the colours have ends with units: the longest compute of a rank is the brightest.
    assert {"0/0", "1/2", "compute", "0 ns"} <= set(window.texts()), window.texts()
    cell = next(i for i in cells if i["path"].endswith("cell 1 2 rank 5"))
    window.click(cell["path"])
    assert all(part in window.link for part in ("layer=1", "step=2", "rank=5")), window.link


# -- Balance, Compare, Report, SQL

def compare_adds_up(world):
    """The parts of the waterfall, also the other way round."""
    window = world.window("compare")
    before = dict(window.view)
    for a, b in (("from", "to"), ("to", "from")):
        step = window.view
        assert (step["from"], step["to"], step["from_ns"], step["to_ns"]) == (before[a], before[b], before[a + "_ns"], before[b + "_ns"])
        assert step["to_ns"] - step["from_ns"] == sum(step[part] for part in ("compute", "late peer", "wire", "other")), step
        window.click("compare/main/swap")
    cells = [i for i in window.items if i["path"].endswith("/others/rows") and i["kind"] == "text"]
    assert cells and not [i["text"] for i in cells if i["elided"] or "unmeasured" in i["text"]]


def compare_refuses_other_workloads(world):
    other = world.run("other-mask.db", "mask.density=0.5", "run.denoise_steps=1")
    window = world.open(world.demo, other)
    window.click("rail/views/compare")
    name, of = window.item("compare/main/from", "choice")["value"].split(" · ")
    window.click("compare/main/to", "choice")
    options = [i for i in window.items
               if i["layer"] == 1 and i["kind"] == "button" and i["text"].startswith(name) and not i["text"].endswith(of)]
    window.click(options[0]["path"])
    assert "different workloads" in window.view["not_comparable"] and window.says("Not comparable"), window.view
    window.close()


def sql_answers(world):
    """Questions, those asked before and those to start from; what is no SELECT is refused; the schema with its columns."""
    window = world.window("sql")
    questions = {"one": "select 1 as one", "two": "select 2 as two"}
    for name, question in questions.items():
        window.ask(question)
        window.wait_for(lambda s: s["view"].get("columns") == [name] and s["view"]["rows"] == 1 and not s["busy"], "the answer")
    window.click("sql/main/history", "choice")
    assert [i["text"] for i in window.items if i["layer"] == 1 and i["kind"] == "button"] == ["History", *reversed(questions.values())]
    window.click("history/" + questions["one"])
    assert window.view["question"] == questions["one"]
    window.ask("delete from event")
    window.wait_for(lambda s: "error" in s["view"], "the refusal")
    assert window.says("SPS")
    window.click("sql/main/questions", "choice")
    options = [i for i in window.items if i["layer"] == 1 and i["kind"] == "button"]
    assert len(options) == 11, [i["text"] for i in options]
    window.click(options[1]["path"])
    window.click("sql/main/ask")
    window.wait_for(lambda s: "rows" in s["view"] and not s["busy"], "the answer")
    assert window.view["question"].lower().lstrip().startswith(("select", "with", "--"))
    links = [i["text"] for i in window.items if i["path"].startswith("details/") and i["kind"] == "link"]
    assert links[0] == "strategy_summary" and links[-1] == "Show" and not any(name.isupper() for name in links), links
    window.click("details/pane/repeat")
    assert "makespan_ns" in window.details


def sql_row_leads_to_timeline(world):
    """By a double click, but numbers that are no place lead nowhere; those of a column sort as numbers."""
    window = world.window("sql")
    window.ask("select strategy_id, layer, denoise_step, 3 as rank, 9 as n from run where layer = 1 and denoise_step = 2 and strategy_id = 1 "
               "union all select 1, 0, 0, 1e300, 10 union all select 1, 0, 0, -7, 11 order by n")
    window.wait_for(lambda s: s["view"].get("rows") == 3, "the answer")
    row = lambda number: next(i for i in window.items if f"/answer/rows/row {number} " in i["path"] and i["kind"] == "row")
    for number, part in ((0, "layer=1"), (1, "layer=0"), (2, "layer=0")):
        window.click(row(number)["path"], times=2)
        assert "#timeline" in window.link and part in window.link and ("rank=3" in window.link) == (number == 0), window.link
        assert ("rank=" in window.link) == (number == 0), window.link
        window.press("Alt+Left")
        window.wait_for(lambda s: "#sql" in s["link"] and window.has("answer/rows/sort rank"), "back")
    window.click("answer/rows/sort rank", "button")
    tops = [row(number)["rect"][1] for number in (1, 0, 2)]
    assert tops == sorted(tops), "the largest first"


# -- without a display

def screenshot_without_display(world):
    pictures = []
    for number in range(2):
        path = world.folder / f"picture-{number}.png"
        subprocess.run([world.program, "--settings", "", "--screenshot", "timeline", "--size", "800x600", "-o", path, world.demo],
                       check=True, env=no_display())
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1] and pictures[0].startswith(b"\x89PNG") and len(pictures[0]) > 10000
    for view, _, _ in views():
        dumps = [world.view_dump(view, world.demo) for _ in range(2)]
        assert dumps[0] == dumps[1] and (dumps[0] or view == "start"), view


def command_line_has_no_display_library(world):
    libraries = subprocess.run(["ldd", world.spscope], capture_output=True, text=True, check=True).stdout
    named = [line for line in libraries.splitlines() if any(n in line for n in ("libGL", "libEGL", "libX11", "libglfw", "imgui", "wayland"))]
    assert not named, named
    assert "libglfw" in subprocess.run(["ldd", world.program], capture_output=True, text=True, check=True).stdout


def toolbars_fit_in_a_line(world):
    """In a small window the controls of Timeline and Heads stand in one line; the field of a time comes with its command."""
    for view, names in (("timeline", ("zoom out", "critical path", "find")), ("heads", ("order", "along", "difference"))):
        window = world.open(f"{world.demo}#{view}", size=(1280, 800))
        middles = [sum(window.item(f"{view}/main/{name}")["rect"][1::2]) / 2 for name in names]
        assert max(middles) - min(middles) < 8, (view, names, middles)
        if view == "timeline":
            assert not window.has("go to time")
            window.press("Ctrl+G")
            window.type("1ms")
            assert window.item("go to time")["value"] == "1ms"
        window.close()


def overview_selects_and_says_why(world):
    """The report's sentences and bars, its reasons beside them, then its table. Rows and bars select, and the details of what is
    selected lead to the rank that others wait for."""
    window = world.window("overview")
    shown = " ".join(window.texts())
    for sentence in window.view[0]["conclusions"]:
        assert all(word in shown for word in sentence.split()[:4]), sentence
    assert not window.has("details splitter"), "nothing is selected"
    bars = {i["text"]: i["rect"] for i in window.items if i["kind"] == "bar"}
    assert set(bars) == {s["label"] for s in world.json_of("report", world.demo, "--json")["strategies"]} <= set(window.rows("table")), bars
    heading = window.item("table/rows/sort end to end")
    assert max(rect[3] for rect in bars.values()) < heading["rect"][1] and heading["rect"][2] <= heading["clip"][2], (bars, heading)
    reasons = {i["text"]: i["rect"] for i in window.items if i["kind"] == "link" and "/chart/beside " in i["path"] and i["text"] in bars}
    assert len(reasons) >= 3 and all(rect[0] > bars[label][2] and abs(rect[1] - bars[label][1]) < 8 for label, rect in reasons.items()), reasons
    window.click("chart/bar ring r8")
    assert "of=ring" in window.link and "ring r8" in window.details
    window.click("table/rows/row 3 ulysses u8", "row")
    words = window.item("details/pane/why")["text"]
    window.click("details/pane/why")
    rank = words.split("rank ")[1].split()[0]
    assert "#timeline" in window.link and f"rank={rank}" in window.link and "of=ulysses" in window.link


def timeline_tells_of_an_event(world):
    """Under the pointer, and in the details once it is selected."""
    window = world.window("timeline?s=ring")
    window.press("Home")
    ticks = sorted(float(t[:-3]) for t in (i["text"] for i in window.items if i["path"] == "timeline/main") if re.fullmatch(r"[0-9.]+ ms", t))
    assert len(ticks) > 2 and ticks[-1] + ticks[1] - ticks[0] > axis(window)[1] * 1e-6, "the last tick has its label, too"
    mark = max((i for i in window.items if "band ring/rank 1 op" in i["path"] and i["text"] == "attend"), key=lambda i: i["rect"][2] - i["rect"][0])
    window.hover(mark["path"], first=True)
    said = " ".join(window.tooltip)
    assert all(words in said for words in ("attend", "rank 1", "tiles", "ring step")), said
    op = select_op(window, "ring", 2)
    selected = next(b["selected"] for b in window.view["bands"] if "selected" in b)
    assert (selected["op"], selected["name"]) == (op, "attend") and "attend" in window.details and "rank 2" in window.details
    told = [i["text"] for i in window.items if i["path"].startswith("details/") and i["kind"] == "text"]
    assert not [t for t in told if re.search(r"\d\.\d{3}|\d{4}", t)], told


def balance_map(world):
    """Figures of layer passes with their scale; a cell leads to its pass. Ratios have their definitions."""
    window = world.window("balance")
    assert window.details.count("imbalance ratio") >= 3, window.details[:400]
    values = lambda: [c["value"] for one in window.view for c in one["map"]]
    before = values()
    shown = window.texts()
    assert {"imbalance ratio", "0", "1", "2"} <= set(shown) and all(f"{value:.3f}" in shown for value in before), shown
    assert window.says("one layer pass of ulysses u8"), "What if opens where ranks wait"
    window.choose("map/figure", "figure/density")
    assert values() != before and all(0 < v < 1 for v in values())
    cell = next(i for i in window.items if i["path"].endswith("cell 0 dbsp 1 2"))
    window.click(cell["path"])
    assert "#timeline" in window.link and "layer=1" in window.link and "step=2" in window.link and "of=dbsp" in window.link


def no_window_says_a_way_on(world):
    """Without a display, and on one without OpenGL 3, as over ssh -X, the program says so and what to do."""
    with Display((800, 600), options=["-extension", "GLX"]) as display:
        for environment, words in ((no_display(), "DISPLAY"), (display.environment, "OpenGL")):
            said = subprocess.run([world.program, "--settings", "", world.demo], capture_output=True, text=True, env=environment, timeout=60)
            assert said.returncode != 0 and words in said.stderr and "--screenshot" in said.stderr, said.stderr
