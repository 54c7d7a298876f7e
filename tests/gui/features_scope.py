"""What is looked at where several files are open, and layer passes that overlap: gui.md 1 and 4."""
from world import DEMO, axis

OWN = DEMO.replace("layers = 2", "layers = 1").replace("denoise_steps = 3", "denoise_steps = 1").replace(
    '"ulysses", "ring", "usp:ulysses=4,ring=2", "dbsp", "cyclic"', '"ulysses", "ring"')


def _own(world):
    """A run of one layer pass, which is not the slowest one of the demo."""
    path = world.run("own.db", OWN)
    assert world.sql(path, "select distinct layer, denoise_step from run") == [(0, 0)]
    return path


def _bands(window):
    return [b["strategy"] for b in window.view["bands"]]


def scope_does_not_outlive_its_file(world):
    own = _own(world)
    window = world.open(f"{world.demo},{own}#timeline?layer=1&step=2")
    window.click("top/line/file 0/close")
    assert "layer=" not in window.link and "step=" not in window.link, window.link
    assert (window.view["layer"], window.view["denoise_step"]) == (0, 0) and sorted(_bands(window)) == ["ring", "ulysses"]
    assert all(b["makespan_ns"] > 0 for b in window.view["bands"]), window.view["bands"]
    window.click("rail/views/heads")
    assert window.has("head 0", "picture") and not window.says("The file has no mask"), window.texts()
    window.click("top/line/file 0/close")
    window.click("start/main/demo")
    window.click("rail/views/timeline")
    assert len(_bands(window)) == 5 and all(b["makespan_ns"] > 0 for b in window.view["bands"]), window.view["bands"]
    window.close()


def an_impossible_pass_is_the_slowest(world):
    """A link of another file: what nobody has run counts as not said."""
    slowest = world.view_dump("timeline", world.demo)
    told = world.view_dump("timeline", f"{world.demo}#timeline?layer=38&step=41")
    assert (told["layer"], told["denoise_step"]) == (slowest["layer"], slowest["denoise_step"])
    told = world.view_dump("timeline", f"{world.demo}#timeline?layer=1&step=41")
    assert told["layer"] == 1, told["layer"]


def opening_a_file_goes_to_it(world):
    own = _own(world)
    window = world.open(f"{world.demo}#timeline?layer=1&step=2")
    window.press("Ctrl+O")
    assert window.item("browser/path")["focused"]
    window.press("Ctrl+A")
    window.type(str(own))
    window.press("Enter")
    assert "#overview" in window.link and "file=1" in window.link and "layer=" not in window.link, window.link
    assert window.item("top/line/file 1/tab")["selected"]
    titles = {i["path"].split("/")[2] for i in window.items if i["path"].startswith("overview/main/file ")}
    assert titles == {"file 1"}, titles
    window.click("rail/views/timeline")
    assert sorted(_bands(window)) == ["ring", "ulysses"] and not window.says("has not run")
    window.click("top/line/file 0/tab")
    assert "#timeline" in window.link and "file=0" in window.link and len(_bands(window)) == 5, window.link
    window.close()


def a_closed_file_takes_its_pins_along(world):
    """What is pinned belongs to a strategy of a file, also where a file before it is closed."""
    window = world.open(f"{_own(world)},{world.demo}#timeline?layer=0&step=0&s=ring,1:ring")
    pins = lambda: sorted((i["path"].rsplit("/", 1)[1], i["text"]) for i in window.items if i["text"].endswith(" (pinned)") and i["kind"] == "text")
    for row in ("band ring/rank 3", "band 1:ring/rank 5"):
        window.click(row, "row")
        window.press("P")
    assert pins() == [("band 1:ring", "rank 5 (pinned)"), ("band ring", "rank 3 (pinned)")], pins()
    window.click("top/line/file 0/close")
    assert _bands(window) == ["ring"] and pins() == [("band ring", "rank 5 (pinned)")], (_bands(window), pins())
    window.close()


def files_side_by_side_say_once_what_has_not_run(world):
    own = _own(world)
    window = world.open(f"{world.demo},{own}#timeline?layer=1&step=2")
    assert len(_bands(window)) == 5, _bands(window)
    said = [t for t in window.texts() if t.startswith("Not run in layer 1 of denoise step 2: ")]
    assert len(said) == 1 and "ulysses u8 · own.db" in said[0] and "ring r8 · own.db" in said[0], said
    window.click("elsewhere/show")
    assert (window.view["layer"], window.view["denoise_step"]) == (0, 0) and len(_bands(window)) == 7
    # Bands of equal names are bands of their own, each with its rows and its critical path.
    tops = {i["path"].rsplit(" ", 1)[1]: i["rect"][1] for i in window.items if "/critical path " in i["path"] and i["kind"] == "mark"}
    assert set(tops) == {"ulysses", "ring", "usp", "dbsp", "cyclic", "1:ulysses", "1:ring"} and len(set(tops.values())) == 7, tops
    assert min(tops["1:ulysses"], tops["1:ring"]) > max(tops["ulysses"], tops["ring"]), "file by file"
    window.wheel("bands/area", up=False, times=60)
    assert window.has("band 1:ulysses/rank 0", "row"), "the last bands can be reached"
    window.close()


def passes_that_overlap_are_drawn_whole(world):
    """A pass begins on some ranks before the one before has ended on all: it is drawn from there, and its makespan counts
    from that end, in the window, the report and `explain`."""
    leads = {(s, l, t): (lead, ns) for s, l, t, lead, ns in world.sql(
        world.demo, "select strategy.id, layer, denoise_step, lead_ns, makespan_ns from repeat join run using (run_id) "
        "join strategy using (strategy_id)")}
    assert max(lead for lead, _ in leads.values()) > 0
    layer, step = max(leads, key=lambda key: leads[key][0])[1:]
    window = world.open(f"{world.demo}#timeline?layer={layer}&step={step}")
    begin, end = axis(window)
    explained = {s["id"]: s for s in world.json_of("explain", world.demo, "--layer", layer, "--step", step, "--json")["strategies"]}
    for band in window.view["bands"]:
        lead, makespan = leads[band["strategy"], layer, step]
        assert (band["zero_ns"], band["makespan_ns"], band["end_ns"]) == (lead, makespan, makespan), band
        assert begin <= band["begin_ns"] <= 0 and band["end_ns"] <= end, (begin, end, band)
        path = explained[band["strategy"]]["critical_path"]["steps"]
        assert [s["begin_ns"] + lead for s in band["critical_path"]] == [s["begin_ns"] for s in path]
        area = window.item("bands/area")["rect"]
        spans = [i["rect"] for i in window.items if f"band {band['strategy']}/rank 0 op" in i["path"]]
        if spans:
            assert all(area[0] <= left and right <= area[2] for left, _, right, _ in spans)
            rows = [i["rect"] for i in window.items if f"band {band['strategy']}/end" in i["path"]]
            assert rows and all(right <= rows[0][0] + 2 for _, _, right, _ in spans), (rows, max(s[2] for s in spans))
    window.click("rail/views/timeline")
    window.press("Home")
    assert axis(window) == (begin, end)
    window.close()


def report_counts_from_where_the_pass_before_ended(world):
    window = world.window("report")
    heads = [t for t in window.texts() if ", " in t]
    by_pass = {}
    for layer, step, strategy, ns in world.sql(
            world.demo, "select layer, denoise_step, strategy.id, makespan_ns from repeat join run using (run_id) join strategy using (strategy_id)"):
        by_pass.setdefault((layer, step), {})[strategy] = ns
    slowest = max(by_pass, key=lambda key: sum(by_pass[key].values()))
    told = world.view_dump("timeline", f"{world.demo}#timeline?layer={slowest[0]}&step={slowest[1]}")
    compared = {s["id"]: s["label"] for s in world.json_of("compare", world.demo, "--json")["strategies"]}
    for band in told["bands"]:
        wanted = f"{compared[band['strategy']]}, {_milliseconds(band['makespan_ns'])}"
        assert wanted in heads, (wanted, [h for h in heads if compared[band["strategy"]] in h])


def _milliseconds(ns):
    """As the window writes durations from 1 to 1000 ms: three digits."""
    ms = ns / 1e6
    return f"{ms:.{2 if ms < 10 else 1 if ms < 100 else 0}f} ms"


def links_take_shown_names(world):
    window = world.open(f"{world.demo}#timeline?s=ring%20r8,ulysses&of=ring%20r8&rank=3")
    assert "s=ring,ulysses" in window.link and "of=ring&" in window.link, window.link
    window.close()
    window = world.open(f"{world.demo}#timeline?s=nobody")
    assert window.says('demo.db has no strategy "nobody", but ulysses, ring') and len(_bands(window)) == 5, window.texts()
    window.close()


def one_escape_closes_the_palette(world):
    window = world.window("timeline")
    window.press("Ctrl+Shift+P")
    assert window.has("palette/window/question")
    window.press("Escape")
    assert not window.has("palette/window/question")


def help_menu_lists_what_there_is(world):
    window = world.window("timeline")
    window.click("rail/views/menu")
    assert window.says("Size of texts and controls: 100 %") and window.has("commands/kKeys") and window.has("commands/kPalette")
    for percent in (110, 125, 150):
        window.click("commands/kScaleUp")
        assert window.says(f"Size of texts and controls: {percent} %") and abs(window.state["scale"] - percent / 100) < 0.01
    window.click("commands/kScaleReset")
    assert not window.has("commands/kKeys") and window.state["scale"] == 1


def menus_open_below_their_field(world):
    window = world.window("timeline")
    field = window.item("scope/layer", "choice")["rect"]
    window.click("scope/layer", "choice")
    first = window.item("scope/layer/layer 0", "button", first=True)["rect"]
    assert first[1] >= field[3] and abs(first[0] - field[0]) < 30, (field, first)
    window.press("Escape")
    button = window.item("rail/views/menu")["rect"]
    window.click("rail/views/menu")
    assert window.item("commands/kQuit")["rect"][3] <= button[1], "above, where there is more room"
    window.press("Escape")


def wrong_files_do_not_stay(world):
    wrong = world.folder / "wrong.db"
    wrong.write_text("no store", encoding="utf-8")
    settings = world.folder / "wrong-settings.json"
    window = world.open(wrong, "--settings", settings)
    assert window.has("wrong.db/failed") or window.says("wrong.db"), window.texts()
    window.click("rail/views/start")
    assert window.view["recent"] == [], window.view
    window.click("start/main/demo")
    assert [i["text"] for i in window.find("tab")] == ["demo.db"]
    window.click("rail/views/start")
    assert [path.rsplit("/", 1)[1] for path in window.view["recent"]] == ["demo.db"]
    window.close()


def details_follow_what_is_shown(world):
    """A strategy that is selected and not among the bands: the details tell of what is shown."""
    window = world.open(f"{world.demo}#timeline?s=ulysses,usp&of=ring&rank=2")
    details = " ".join(i["text"] for i in window.items if i["path"].startswith("details/"))
    assert "being read" not in details and "on the critical path of" in details, details
    window.close()


def strategies_stand_along_the_file(world):
    """Each strategy where its layer passes are, those that follow each other as one."""
    window = world.open(f"{world.demo}#timeline?time=file")
    marks = [i for i in window.items if "/strategy " in i["path"] and i["kind"] == "mark"]
    rows = world.sql(world.demo, "select strategy.id, begin_ns from repeat join run using (run_id) join strategy using (strategy_id) order by begin_ns")
    wanted = [s for n, (s, _) in enumerate(rows) if n == 0 or rows[n - 1][0] != s]
    told = [i["path"].rsplit(" ", 2)[1] for i in sorted(marks, key=lambda i: i["rect"][0])]
    assert told == wanted, (told, wanted)
    window.close()
