"""The views: gui.md 4 and 6. Numbers are compared with what the command line says of the same file."""
import json
import time
import shutil
import subprocess

from window import seen
from world import DEMO, axis, select_op, views


# -- Start

def start_opens_by_path(world):
    window = world.open()
    window.click("start/main/browse")
    window.click("browser/path")
    window.press("Ctrl+A")
    window.type(str(world.demo))
    window.click("browser/open")
    window.wait_for(lambda s: window.has("top/line/file 0/tab") and not s["busy"], "the file is open")
    assert str(world.demo) in window.link
    window.close()


def start_completes_paths(world):
    window = world.open()
    world.demo
    window.click("start/main/browse")
    window.click("browser/path")
    window.press("Ctrl+A")
    window.type(str(world.folder / "dem"))
    window.press("Tab")
    window.wait_for(lambda s: window.item("browser/path")["value"] == str(world.demo), "Tab completes the path")
    window.close()


def start_lists_files(world):
    window = world.open(folder=world.folder / "listing")
    shutil.copy(world.demo, world.folder / "listing" / "listed.db")
    window.click("start/main/browse")
    window.click("browser/files/listed.db")
    assert window.item("top/line/file 0/tab")["text"] == "listed.db"
    window.close()


def start_recent_files(world):
    settings = world.folder / "recent.json"
    settings.write_text(json.dumps({"recent": [str(world.demo), "/nowhere/gone.db"]}))
    window = world.open("--settings", settings)
    assert window.says("gone.db (it is not there any more)")
    window.click("start/main/" + str(world.demo))
    assert "#overview" in window.link and window.item("top/line/file 0/tab")["text"] == "demo.db"
    window.close()


def start_new_run(world):
    window = world.open()
    window.click("start/main/new run")
    assert "#run" in window.link
    window.close()


def start_line_for_other_host(world):
    window = world.open()
    window.click("copy line")
    assert any("spscope report RUN.db" in t for t in window.texts())
    window.click("start/main/browse")
    assert window.clipboard("browser/path").startswith("ssh HOST spscope report")
    window.close()


def start_demo_or_why_not(world):
    """The demo opens where it is installed; else the button says why it does not."""
    for name in ("whole", "bare"):
        program = world.folder / f"installed-{name}" / "bin" / world.program.name
        program.parent.mkdir(parents=True)
        shutil.copy(world.program, program)
        demo = program.parents[1] / "share/spscope/demo.db"
        if name == "whole":
            demo.parent.mkdir(parents=True)
            shutil.copy(world.demo, demo)
        window = world.open(program=program)
        if name == "whole":
            window.click("start/main/demo")
            window.wait_for(lambda s: "#overview" in s["link"] and not s["busy"], "the demo is open")
            assert window.link.startswith(str(demo)) and window.item("scope/strategies")["text"] == "5 of 5 strategies", window.link
        else:
            assert window.item("start/main/demo")["disabled"]
            window.hover("start/main/demo")
            assert any("demo.db" in i["text"] for i in window.items if i["layer"] == 2), window.texts()
            window.click("start/main/demo")
            assert "#start" in window.link, window.link
        window.close()


# -- Overview

def overview_equals_report(world):
    """The numbers of the view are those of `report --json`, to the last digit."""
    window = world.window("overview")
    report = world.json_of("report", world.demo, "--json")
    assert [c["result"] for c in window.view] == (report if isinstance(report, list) else [report])
    for sentence in window.view[0]["conclusions"]:
        shown = " ".join(window.texts())
        assert all(word in shown for word in sentence.split()[:4]), sentence


def overview_table_and_bars(world):
    window = world.window("overview")
    labels = {s["label"] for s in world.json_of("report", world.demo, "--json")["strategies"]}
    rows = {i["text"] for i in window.items if i["kind"] == "row"}
    bars = {i["text"] for i in window.items if i["kind"] == "bar"}
    assert labels <= rows and labels <= bars, (labels, rows, bars)


def overview_selects(world):
    window = world.window("overview")
    window.click("table/rows/row 3 ulysses u8", "row")
    assert "of=ulysses" in window.link
    window.click("chart/bar ring r8")
    assert "of=ring" in window.link
    details = " ".join(i["text"] for i in window.items if i["path"].startswith("details/"))
    assert "ring r8" in details


def overview_hint_leads_on(world):
    settings = world.folder / "hints.json"
    window = world.open(world.demo, "--settings", settings)
    window.click("hint/action")
    assert "#timeline" in window.link and "rank=" in window.link, window.link
    window.press("Alt+Left", "Alt+Left")
    window.click("rail/views/overview")
    assert not window.has("hint/action")
    window.close()


def overview_hint_shows_the_rank_in_the_slowest_pass(world):
    """Show me in a small window: the band of the rank is scrolled to, in the layer pass that explain and the scope show,
    though its strategy has a slower one; the user may scroll away; a rank selected elsewhere is scrolled to again."""
    window = world.open(world.demo, size=(1100, 640))
    window.click("hint/action")
    window.wait_for(lambda s: "#timeline" in s["link"] and not s["busy"], "the timeline")
    strategy, rank = (window.link.split(f"{part}=")[1].split("&")[0] for part in ("of", "rank"))
    explained = world.json_of("explain", world.demo, "--json")
    assert (window.view["layer"], window.view["denoise_step"]) == (explained["layer"], explained["denoise_step"]), window.link
    slowest = world.sql(world.demo, "select layer, denoise_step from run join repeat using (run_id) join strategy using (strategy_id) "
                        f"where strategy.id = '{strategy}' order by makespan_ns desc limit 1")[0]
    assert slowest != (explained["layer"], explained["denoise_step"]), "the demo must have a slower pass of this strategy"
    row = f"band {strategy}/rank {rank}"
    assert window.find(row, "row") and seen(window.item(row, "row")) == tuple(window.item(row, "row")["rect"]), window.item(row, "row")
    first = window.view["bands"][0]["strategy"]
    assert not window.find(f"band {first}/rank 0", "row"), "the band does not fit below those before it"
    window.wheel(row, up=True, times=60)
    assert window.find(f"band {first}/rank 0", "row"), "it stays where the user scrolled"
    window.close()


def overview_why_late(world):
    window = world.window("overview")
    window.click("table/rows/row 3 ulysses u8", "row")
    words = window.item("details/pane/why")["text"]
    window.click("details/pane/why")
    rank = words.split("rank ")[1].split()[0]
    assert "#timeline" in window.link and f"rank={rank}" in window.link and "of=ulysses" in window.link


# -- Timeline

def _length(intervals):
    """Of the union of half-open intervals."""
    total, reached = 0, None
    for begin, end in sorted(intervals):
        if reached is None or end > reached:
            total += end - (begin if reached is None else max(begin, reached))
            reached = end
    return total


def timeline_equals_events(world):
    """Compute, late peer and wire of each rank are what the stored events add up to; bars are as long as the makespans."""
    window = world.window("timeline")
    layer, step = window.view["layer"], window.view["denoise_step"]
    for band in window.view["bands"]:
        where = (f"from event join run using (run_id) join strategy using (strategy_id) where strategy.id = '{band['strategy']}' "
                 f"and run.layer = {layer} and run.denoise_step = {step}")
        events = world.sql(world.demo, "select rank, begin_ns, end_ns, entry_ns, transfer_begin_ns, transfer_end_ns " + where)
        for row in band["ranks"]:
            mine = [e[1:] for e in events if e[0] == row["rank"]]
            compute = [(e[0], e[1]) for e in mine if e[2] is None]
            wire = [(e[3], e[4]) for e in mine if e[2] is not None]
            wait = [(e[2], e[3]) for e in mine if e[2] is not None]
            lengths = _length(compute), _length(compute + wire), _length(compute + wire + wait)
            told = row["compute_ns"], row["wire_ns"], row["wait_late_peer_ns"]
            assert told == (lengths[0], lengths[1] - lengths[0], lengths[2] - lengths[1]), (band["strategy"], row, lengths)
        (makespan,), = world.sql(world.demo, f"select makespan_ns from repeat join run using (run_id) join strategy using (strategy_id) where "
                                 f"strategy.id = '{band['strategy']}' and layer = {layer} and denoise_step = {step}")
        assert band["makespan_ns"] == makespan


def timeline_critical_path(world):
    """Steps follow each other without a gap and add up to the makespan."""
    window = world.window("timeline")
    for band in window.view["bands"]:
        steps = band["critical_path"]
        assert steps and all(a["end_ns"] == b["begin_ns"] for a, b in zip(steps, steps[1:]))
        assert steps[-1]["end_ns"] == band["makespan_ns"] and steps[0]["begin_ns"] == -band["zero_ns"]
    window.click("timeline/main/critical path")
    assert not window.item("timeline/main/critical path")["selected"]
    window.click("timeline/main/critical path")


def timeline_orders_rows(world):
    window = world.window("timeline?s=ulysses")
    compute = {r["rank"]: r["compute_ns"] for b in window.view["bands"] if b["strategy"] == "ulysses" for r in b["ranks"]}
    window.click("timeline/main/order", "choice")
    window.click("order/by compute")
    rows = sorted((i["rect"][1], int(i["text"].split()[1])) for i in window.items if "/band ulysses/rank " in i["path"] and i["kind"] == "row")
    times = [compute[rank] for _, rank in rows]
    assert times == sorted(times, reverse=True), times
    window.click("timeline/main/order", "choice")
    window.click("order/by node")  # all ranks are on one: by their numbers
    rows = sorted((i["rect"][1], int(i["text"].split()[1])) for i in window.items if "/band ulysses/rank " in i["path"] and i["kind"] == "row")
    assert [rank for _, rank in rows] == list(range(8))
    window.click("timeline/main/order", "choice")
    window.click("order/by rank")


def timeline_unfolds_lanes(world):
    window = world.window("timeline?s=ulysses")
    window.double_click("band ulysses/rank 0", kind="row")
    assert window.has("band ulysses/rank 0 lane 0"), "lanes are shown"
    time.sleep(0.5)  # else the clicks that follow are the third and the fourth
    window.double_click("band ulysses/rank 0", kind="row")
    assert not window.has("band ulysses/rank 0 lane 0")


def timeline_hover_tells(world):
    window = world.window("timeline?s=ring")
    window.press("Home")
    mark = max((i for i in window.items if "band ring/rank 1 op" in i["path"] and i["text"] == "attend"), key=lambda i: i["rect"][2] - i["rect"][0])
    before = window.read()
    window._move((mark["rect"][0] + mark["rect"][2]) / 2, (mark["rect"][1] + mark["rect"][3]) / 2)
    window.settle(before)
    said = " ".join(i["text"] for i in window.items if i["layer"] == 2)
    assert "attend" in said and "rank 1" in said and "tiles" in said and "ring step" in said, said


def timeline_minimap(world):
    window = world.window("timeline")
    window.press("Home")
    window.press("Shift+W", "Shift+W")
    begin, end = axis(window)
    window.click("timeline/main/minimap", at=(0.85, 0.5))
    b, e = axis(window)
    assert b > begin and abs((e - b) - (end - begin)) < 2
    window.press("Home")


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
    """All events of a name: count, mean, median, percentiles are those of the list that the store has."""
    window = world.window("timeline")
    window.click("events/rows/row 0 attend", "row")
    strategy = window.view["bands"][0]["strategy"]
    (found,), = world.sql(world.demo, "select count(*) from event join run using (run_id) join strategy using (strategy_id) where "
                          f"strategy.id = '{strategy}' and run.layer = {window.view['layer']} and run.denoise_step = "
                          f"{window.view['denoise_step']} and event.name = 'attend'")
    details = [i["text"] for i in window.items if i["path"] == "details/pane"]
    assert f"attend: {found} of them" in details, (found, details)
    assert any(p.endswith("bin 0") for p in (i["path"] for i in window.items)), "the histogram is drawn"


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


def timeline_messages_lead_on(world):
    window = world.window("timeline?s=ring")
    window.press("Home")
    select_op(window, "ring", 2, "exchange kv") if any("exchange kv" == i["text"] for i in window.items) else None
    message = next(i for i in window.items if i["path"].startswith("details/pane/message "))
    other = message["text"].split("rank ")[1].split(":")[0]
    window.click(message["path"])
    assert f"rank={other}" in window.link, (message["text"], window.link)


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
    window.press("Alt+Left")
    window.click("tab/Events by name")


def timeline_find_field(world):
    window = world.window("timeline")
    window.click("timeline/main/find")
    window.type("exchange kv")
    rows = {i["text"] for i in window.items if "/events/rows/row " in i["path"] and i["kind"] == "row"}
    assert rows and all("exchange kv" in r for r in rows), rows
    window.press("Ctrl+A", "Delete", "Escape")


# -- Balance, Compare, Report, SQL

def balance_equals_report(world):
    window = world.window("balance")
    told = {s["id"]: s for s in world.json_of("report", world.demo, "--json")["strategies"]}
    for one in window.view:
        for ratio in ("imbalance_ratio", "barrier_imbalance_ratio", "coupled_imbalance_ratio"):
            assert one[ratio] == told[one["strategy"]][ratio], (one["strategy"], ratio)


def balance_map_leads_on(world):
    window = world.window("balance")
    cell = next(i for i in window.items if i["path"].endswith("cell 0 dbsp 1 2"))
    window.click(cell["path"])
    assert "#timeline" in window.link and "layer=1" in window.link and "step=2" in window.link and "of=dbsp" in window.link
    window.press("Alt+Left")


def balance_map_figures(world):
    window = world.window("balance")
    values = lambda: [c["value"] for one in window.view for c in one["map"]]
    before = values()
    assert {"imbalance ratio", "0", "1", "2", f"{min(before):.3f}", f"{max(before):.3f}"} <= set(window.texts()), window.texts()
    window.click("map/figure", "choice")
    window.click("figure/density")
    assert values() != before and all(0 < v < 1 for v in values())
    window.click("map/figure", "choice")
    window.click("figure/imbalance ratio")


def balance_defines_ratios(world):
    window = world.window("balance")
    details = " ".join(i["text"] for i in window.items if i["path"].startswith("details/"))
    assert details.count("imbalance ratio") >= 3, details[:400]


def compare_adds_up(world):
    window = world.window("compare")
    step = window.view
    told = {s["id"]: s["makespan_ns"] for s in world.json_of("report", world.demo, "--json")["strategies"]}
    assert step["from_ns"] == told[step["from"]] and step["to_ns"] == told[step["to"]]
    parts = sum(step[name] for name in ("compute", "late peer", "wire", "other"))
    assert step["to_ns"] - step["from_ns"] == parts, step


def compare_swaps(world):
    window = world.window("compare")
    before = dict(window.view)
    window.click("compare/main/swap")
    assert (window.view["from"], window.view["to"]) == (before["to"], before["from"])
    window.click("compare/main/swap")


def _to_the_other_file(window):
    """Compares a strategy with itself in the other file, since others of another file are refused; the file it is from."""
    name, of = window.item("compare/main/from", "choice")["value"].split(" · ")
    window.click("compare/main/to", "choice")
    options = [i for i in window.items
               if i["layer"] == 1 and i["kind"] == "button" and i["text"].startswith(name) and not i["text"].endswith(of)]
    window.click(options[0]["path"])
    return of


def compare_aligns_layer_passes(world):
    """Those of one file with those of another, which has its own times for them."""
    other = world.run("eager.db", DEMO.replace("[run]\n", '[run]\nimplementation = "eager"\n'))
    window = world.open(world.demo, other)
    window.click("rail/views/compare")
    of = _to_the_other_file(window)
    step = window.view
    told = {}
    for path in (world.demo, other):
        label = window.item("compare/main/from" if of.endswith(path.name) else "compare/main/to", "choice")["value"].split(" · ")[0]
        one = next(s for s in world.json_of("compare", path, "--json")["strategies"] if s["label"] == label)
        told[of.endswith(path.name)] = {(p["layer"], p["denoise_step"]): p["makespan_ns"] for p in one["by_layer"]}
    assert len(told[True]) == 6 and told[True] != told[False]
    assert {(p["layer"], p["denoise_step"]): (p["from_ns"], p["to_ns"]) for p in step["passes"]} == \
        {place: (ns, told[False][place]) for place, ns in told[True].items()}, step["passes"]
    window.close()


def compare_refuses_other_workloads(world):
    other = world.run("other-mask.db", _other_config())
    window = world.open(f"{world.demo}", other, "--theme", "dark")
    window.click("rail/views/compare")
    _to_the_other_file(window)
    assert "different workloads" in window.view["not_comparable"], window.view
    assert window.says("Not comparable")
    window.close()


def _other_config():
    return DEMO.replace("density = 0.3", "density = 0.5").replace("denoise_steps = 3", "denoise_steps = 1")


def report_sections_on_and_off(world):
    window = world.window("report")
    sections = window.view["sections"]
    assert "summary" in sections
    window.click("sections/summary", "checkbox")
    assert "summary" not in window.view["sections"]
    window.click("sections/summary", "checkbox")
    assert window.view["sections"] == sections


def _exported(world, form, ending):
    window = world.window("report")
    window.click("export/form", "choice")
    window.click("form/" + form)
    window.click("export/path")
    path = world.folder / ("exported" + ending)
    window.press("Ctrl+A")
    window.type(str(path))
    window.click("export/write")
    assert window.says("Wrote "), window.texts()[:20]
    return path.read_text(encoding="utf-8")


def report_exports_html(world):
    told = world.folder / "told.html"
    subprocess.run([world.spscope, "report", world.demo, "-o", told], check=True, capture_output=True)
    assert _exported(world, "HTML", ".html") == told.read_text(encoding="utf-8")


def report_exports_markdown(world):
    told = world.folder / "told.md"
    subprocess.run([world.spscope, "report", world.demo, "--format", "markdown", "-o", told], check=True, capture_output=True)
    assert _exported(world, "Markdown", ".md") == told.read_text(encoding="utf-8")


def report_exports_json(world):
    assert json.loads(_exported(world, "JSON", ".json")) == world.json_of("report", world.demo, "--json")


def sql_answers(world):
    window = world.window("sql")
    window.click("sql/main/question")
    window.press("Ctrl+A")
    window.type("select count(*) as n from event")
    window.click("sql/main/ask")
    window.wait_for(lambda s: s["view"].get("rows") == 1, "the answer")
    assert window.view["columns"] == ["n"]


def sql_refuses_changes(world):
    window = world.window("sql")
    window.click("sql/main/question")
    window.press("Ctrl+A")
    window.type("delete from event")
    window.click("sql/main/ask")
    window.wait_for(lambda s: "error" in s["view"], "the refusal")
    assert window.says("SPS")


def sql_questions(world):
    window = world.window("sql")
    window.click("sql/main/questions", "choice")
    options = [i for i in window.items if i["layer"] == 1 and i["kind"] == "button"]
    assert len(options) == 11, [i["text"] for i in options]
    window.click(options[1]["path"])
    window.click("sql/main/ask")
    window.wait_for(lambda s: "rows" in s["view"] and not s["busy"], "the answer")
    assert window.view["question"].lower().lstrip().startswith(("select", "with", "--"))


def sql_cancels(world):
    from features_frame import LONG_QUESTION
    window = world.window("sql")
    window.click("sql/main/question")
    window.press("Ctrl+A")
    window.type(LONG_QUESTION)
    window.click("sql/main/ask", rest=False)
    window.wait_for(lambda s: window.has("sql/main/cancel"), "the question is under way")
    window.click("rail/views/overview", rest=False)
    window.wait_for(lambda s: "#overview" in s["link"], "the window does not wait for it")
    window.click("rail/views/sql", rest=False)
    window.wait_for(lambda s: window.has("sql/main/cancel"), "the question is under way")
    window.click("sql/main/cancel", rest=False)
    window.wait_for(lambda s: not s["busy"] and not window.has("sql/main/cancel"), "it ends")


def sql_schema(world):
    window = world.window("sql")
    window.click("details/pane/repeat")
    assert any("makespan_ns" in i["text"] for i in window.items if i["path"].startswith("details/"))


def sql_row_leads_to_timeline(world):
    window = world.window("sql")
    window.click("sql/main/question")
    window.press("Ctrl+A")
    window.type("select strategy_id, layer, denoise_step, 3 as rank from run where layer = 1 and denoise_step = 2")
    window.click("sql/main/ask")
    window.wait_for(lambda s: s["view"].get("rows") == 5, "the answer")
    row = next(i for i in window.items if "/answer/rows/row 1" in i["path"] and i["kind"] == "row")
    window.double_click(row["path"])
    assert all(part in window.link for part in ("#timeline", "layer=1", "step=2", "rank=3")), window.link


# -- without a display

def screenshot_without_display(world):
    pictures = []
    for number in range(2):
        path = world.folder / f"picture-{number}.png"
        subprocess.run([world.program, "--settings", "", "--screenshot", "timeline", "--size", "800x600", "-o", path, world.demo],
                       check=True, env=world.no_display())
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1] and pictures[0].startswith(b"\x89PNG") and len(pictures[0]) > 10000
    for view, _, _ in views():
        dumps = [subprocess.run([world.program, "--settings", "", "--view-dump", view, world.demo], check=True, capture_output=True,
                                env=world.no_display()).stdout for _ in range(2)]
        assert dumps[0] == dumps[1] and (dumps[0].strip() or view == "start"), view


def view_dump_equals_window(world):
    window = world.window("timeline")
    window.press("Home")
    dump = world.view_dump("timeline", world.demo)
    assert [b["ranks"] for b in dump["bands"]] == [b["ranks"] for b in window.view["bands"]]


def no_display_says_a_way_on(world):
    said = subprocess.run([world.program, world.demo], capture_output=True, text=True, env=world.no_display())
    assert said.returncode != 0 and "DISPLAY" in said.stderr and "--screenshot" in said.stderr, said.stderr


def command_line_has_no_display_library(world):
    libraries = subprocess.run(["ldd", world.spscope], capture_output=True, text=True, check=True).stdout
    named = [line for line in libraries.splitlines() if any(n in line for n in ("libGL", "libEGL", "libX11", "libglfw", "imgui", "wayland"))]
    assert not named, named
    assert "libglfw" in subprocess.run(["ldd", world.program], capture_output=True, text=True, check=True).stdout


def toolbars_fit_in_a_line(world):
    """In small windows the controls of Timeline and Heads stand in one line; the field of a time comes with its command."""
    for size, rows in (((1440, 900), {"timeline": ("zoom out", "critical path", "find", "go to time"), "heads": ("order", "along", "difference")}),
                       ((1280, 800), {"timeline": ("zoom out", "critical path", "find"), "heads": ("order", "along", "difference")})):
        for view, names in rows.items():
            window = world.open(f"{world.demo}#{view}", size=size)
            window.wait_for(lambda s: not s["busy"], "the view")
            middles = [sum(window.item(f"{view}/main/{name}")["rect"][1::2]) / 2 for name in names]
            assert max(middles) - min(middles) < 8, (size, view, names, middles)
            if view == "timeline" and size[0] == 1280:
                assert not window.has("go to time")
                window.press("Ctrl+G")
                window.type("1ms")
                assert window.item("go to time")["value"] == "1ms"
            window.close()
