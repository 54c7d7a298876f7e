"""Frame, scope, link, states and looks: gui.md 1 and 2."""
import json
import shutil
import sqlite3

from world import DEMO, STRATEGIES, axis, commands, views


def rail_shows_views(world):
    window = world.window()
    for view, title, _ in views():
        window.click("rail/views/" + view)
        item = window.item("rail/views/" + view)
        assert item["selected"] and item["text"] == title, item
        assert f"#{view}" in window.link, window.link


def tabs_open_and_close(world):
    other = shutil.copy(world.demo, world.folder / "other.db")
    window = world.open(world.demo, other)
    assert [i["text"] for i in window.find("tab")] == ["demo.db", "other.db"]
    window.click("top/line/file 1/close")
    assert [i["text"] for i in window.find("tab")] == ["demo.db"] and "other.db" not in window.link
    window.click("top/line/open")
    assert "#start" in window.link
    window.click("top/line/file 0/tab")
    assert "#overview" in window.link
    window.close()


def _splitter(window, name, sideways):
    item = window.item(name, "splitter")
    left, top, right, bottom = item["rect"]
    middle = ((left + right) / 2, (top + bottom) / 2)
    moved = (middle[0] - 60, middle[1]) if sideways else (middle[0], middle[1] - 60)
    window.drag(middle, moved)
    axis_of = 0 if sideways else 1
    after = window.item(name, "splitter")["rect"]
    assert abs((item["rect"][axis_of] - after[axis_of]) - 60) < 8, (item["rect"], after)
    window.drag((after[0] + 3, after[1] + 3) if sideways else ((after[0] + after[2]) / 2, after[1] + 3), middle)


def details_splitter(world):
    _splitter(world.window("timeline"), "details splitter", True)


def table_splitter(world):
    _splitter(world.window("timeline"), "table splitter", False)


def a_fast_press_moves_nothing(world):
    """The way to a splitter is no part of its drag, also where the press comes in the same frame."""
    window = world.window("timeline")
    item = window.item("details splitter", "splitter")
    left, top, right, bottom = item["rect"]
    for away in (200, 400, 600):
        window.hover_at(away, 300)
        window.press_at((left + right) / 2, (top + bottom) / 2)
        assert window.item("details splitter", "splitter")["rect"] == item["rect"], away


def panes_fold(world):
    window = world.window("timeline")
    for key, name in (("Ctrl+Shift+D", "details splitter"), ("Ctrl+Shift+T", "table splitter")):
        assert window.has(name)
        window.press(key)
        assert not window.has(name), name
        window.press(key)
        assert window.has(name), name


def full_view(world):
    window = world.window("timeline")
    before = window.item("bands/area")["rect"]
    window.press("F11")
    after = window.item("bands/area")["rect"]
    assert not window.has("rail/views/start") and after[2] - after[0] > before[2] - before[0] and after[3] > before[3]
    window.press("F11")
    assert window.item("bands/area")["rect"] == before


def status_line(world):
    window = world.window()
    words = [i["text"] for i in window.items if i["path"] == "status/line"]
    (events,), = world.sql(world.demo, "select count(*) from event")
    assert any("compute modelled, network scheduled" in w and f"{events:,} events" in w for w in words), (words, events)


def scope_strategies(world):
    window = world.window("timeline")
    makespans = {s["id"]: s["makespan_ns"] for s in world.json_of("compare", world.demo, "--json")["strategies"]}
    window.click("scope/strategies")
    window.click("0 ring", "checkbox")
    window.press("Escape")
    assert window.item("scope/strategies")["text"] == "4 of 5 strategies" and "s=ulysses,usp" in window.link, window.link
    assert [b["strategy"] for b in window.view["bands"]] == sorted(
        (s for s in makespans if s != "ring"), key=makespans.get), "the fastest first"
    window.click("scope/strategies")
    window.click("scope/strategies menu/all")
    window.press("Escape")
    assert len(window.view["bands"]) == 5


def scope_pass(world):
    window = world.window("timeline")
    slowest = (window.view["layer"], window.view["denoise_step"])
    window.click("scope/layer", "choice")
    window.click("scope/layer/layer 1")
    window.click("scope/step", "choice")
    window.click("scope/step/denoise step 2")
    assert "layer=1" in window.link and "step=2" in window.link
    assert (window.view["layer"], window.view["denoise_step"]) == (1, 2)
    window.click("scope/layer", "choice")
    window.click(f"scope/layer/layer {slowest[0]} (slowest)")
    window.click("scope/step", "choice")
    window.click(f"scope/step/denoise step {slowest[1]} (slowest)")
    assert (window.view["layer"], window.view["denoise_step"]) == slowest and "layer=" not in window.link


def slowest_pass_first(world):
    window = world.window("timeline")
    passes = sqlite3.connect(f"file:{world.demo}?mode=ro", uri=True).execute(
        "select layer, denoise_step, sum(makespan_ns) from run join repeat using (run_id) "
        "group by layer, denoise_step order by 3 desc").fetchall()
    assert (window.view["layer"], window.view["denoise_step"]) == passes[0][:2], passes
    explained = world.json_of("explain", world.demo, "--json")
    assert (explained["layer"], explained["denoise_step"]) == passes[0][:2], "the window, explain and reports show one pass"


def link_copied_and_taken(world):
    window = world.window("timeline?s=ulysses")
    window.click("band ulysses/rank 5", "row")
    window.press("Ctrl+L")
    link = window.link
    assert "of=ulysses" in link and "rank=5" in link
    assert window.clipboard("timeline/main/find") == link
    other = world.open(link)
    assert other.link == link and other.item("band ulysses/rank 5", "row")["selected"]
    other.close()


def back_and_forward(world):
    window = world.window("overview")
    window.click("rail/views/timeline")
    window.press("Alt+Left")
    assert "#overview" in window.link
    window.press("Alt+Right")
    assert "#timeline" in window.link


def empty_state_has_button(world):
    window = world.open()
    window.click("rail/views/timeline")
    assert window.says("No file is open.")
    window.click("no file/action")
    assert "#start" in window.link
    window.close()


def error_state(world):
    broken = world.folder / "broken.db"
    broken.write_bytes(b"no store at all\n" * 100)
    window = world.open(broken)
    words = " ".join(i["text"] for i in window.items if "/failed/error" in i["path"])
    assert "SPS" in words and "broken.db" in words, window.texts()
    window.click("error/action")
    window.click("rail/views/start")
    window.click("start/main/browse")
    copied = window.clipboard("browser/path")
    assert "SPS-" in copied and "broken.db" in copied, copied
    window.click("new run")
    window.close()


def empty_timeline(world):
    """Without a timeline of the repeat the band says why."""
    path = world.folder / "no-timeline.db"
    shutil.copy(world.demo, path)
    store = sqlite3.connect(path)
    store.execute("update repeat set has_timeline = 0")
    store.commit()
    store.close()
    window = world.open(f"{path}#timeline")
    window.wait_for(lambda state: any("no timeline" in i["text"] for i in state["items"]), "why there is no timeline")
    window.close()


def nothing_chosen(world):
    # dsp has no axis to switch to where attention is over all frames and positions at once.
    path = world.run("illegal.db", DEMO.replace(STRATEGIES, '["ring", "dsp"]'))
    window = world.open(f"{path}#timeline?s=dsp")
    window.click("none chosen/action")
    assert "s=" not in window.link and window.has("band ring/rank 0", "row"), window.link
    window.close()


def theme_changes(world):
    window = world.window()
    backs = {}
    for _ in range(2):
        backs[window.state["theme"]] = {i["back"] for i in window.items if i["kind"] == "text"}
        window.press("Ctrl+Shift+L")
    assert set(backs) == {"dark", "light"} and not backs["dark"] & backs["light"], backs


def scale_rebakes(world):
    window = world.window()
    title = lambda: window.item("rail/views/start")
    before = title()["rect"]
    window.press("Ctrl+Plus")
    after = title()["rect"]
    ratio = (after[3] - after[1]) / (before[3] - before[1])
    assert 1.05 < ratio < 1.16, ratio
    window.press(*["Ctrl+Plus"] * 14)
    assert abs(window.state["scale"] - 3) < 0.01, window.state["scale"]
    window.press(*["Ctrl+Minus"] * 25)
    assert abs(window.state["scale"] - 0.5) < 0.01, window.state["scale"]
    window.press("Ctrl+0")
    assert window.state["scale"] == 1 and title()["rect"] == before


def best_row_stands_out(world):
    """The fastest strategy's row has a back of its own."""
    window = world.window()
    strategies = world.json_of("report", world.demo, "--json")["strategies"]
    best = min((s for s in strategies if s["makespan_ns"]), key=lambda s: s["makespan_ns"])["label"]
    backs = {i["text"]: i["back"] for i in window.items if i["path"].endswith("table/rows") and i["text"] in {s["label"] for s in strategies}}
    assert [label for label, back in backs.items() if list(backs.values()).count(back) == 1] == [best], backs


def loading_state(world):
    """While a question takes long, what was there stays and words come after 0.3 s."""
    window = world.window("sql")
    window.click("sql/main/question")
    window.press("Ctrl+A")
    window.type("select 7 as seven")
    window.click("sql/main/ask")
    window.wait_for(lambda s: s["view"].get("rows") == 1, "the first answer")
    window.click("sql/main/question")
    window.press("Ctrl+A")
    window.type(LONG_QUESTION)
    window.click("sql/main/ask", rest=False)
    window.wait_for(lambda s: any("asked" in i["text"] and "ago" in i["text"] for i in s["items"]), "words of the question under way")
    assert window.view["columns"] == ["seven"], "the old rows stay"
    window.wait_for(lambda s: any(i["path"].endswith("/dimmed") for i in s["items"]), "and are dimmed")
    window.click("sql/main/cancel", rest=False)
    window.wait_for(lambda s: not s["busy"], "the question ends")


# Minutes of counting.
LONG_QUESTION = "with recursive n(i) as (select 1 union all select i + 1 from n limit 4000000000) select sum(i) from n"


def settings_are_kept(world):
    settings = world.folder / "settings.json"
    window = world.open(world.demo, "--settings", settings)
    window.press("Ctrl+Shift+L", "Ctrl+Plus")
    theme, scale = window.state["theme"], window.state["scale"]
    window.close()
    kept = json.loads(settings.read_text())
    assert kept["theme"] == theme and str(world.demo) in kept["recent"]
    again = world.open(world.demo, "--settings", settings)
    assert again.state["theme"] == theme and abs(again.state["scale"] - scale) < 1e-3
    again.close()


def keys_can_be_changed(world):
    settings = world.folder / "keys.json"
    settings.write_text(json.dumps({"keys": [{"command": "kZoomIn", "keys": "Q"}]}))
    window = world.open(f"{world.demo}#timeline", "--settings", settings)
    before = axis(window)
    window.press("W")
    assert axis(window) == before
    window.press("Q")
    assert axis(window)[1] < before[1]
    window.close()


def keyboard_reaches_controls(world):
    """Arrows go from control to control, in the rail to each of its views, and Space presses the one that has the focus."""
    window = world.open(world.demo)
    focused = lambda: next((i["path"] for i in window.items if i["focused"]), "")
    rail = {f"rail/views/{view}" for view, _, _ in views()}
    reached = set()
    window.press("Tab")
    for _ in range(len(rail) + 4):
        window.press("Up")
        reached.add(focused())
    for _ in range(len(rail) + 4):
        if not rail <= reached:
            window.press("Down")
            reached.add(focused())
    assert rail <= reached, (rail - reached, reached)
    window.close()
    window = world.open(world.demo)
    window.press("Tab")
    for _ in range(4):
        if focused() != "rail/views/timeline":
            window.press("Down")
    assert focused() == "rail/views/timeline" and "#overview" in window.link, (focused(), window.link)
    window.press("Space")
    assert "#timeline" in window.link and window.item("rail/views/timeline")["selected"], window.link
    for key in ("Right", *["Tab"] * 12):  # Dear ImGui 1.92 leaves a pane by Tab
        if focused().startswith("rail/"):
            window.press(key)
    assert focused() and not focused().startswith("rail/"), focused()
    window.close()


def palette_lists_all_commands(world):
    window = world.window()
    window.press("Ctrl+Shift+P")
    for _, _, title, _ in commands()[:10]:
        assert window.has("palette/window/" + title), title
    for _, _, title, _ in commands():
        window.press("Ctrl+A")
        window.type(title[:12])
        assert window.has("palette/window/" + title), title
    window.press("Escape")


def keys_page_lists_all_keys(world):
    window = world.window()
    window.press("?")
    words = {i["text"] for i in window.items if i["path"].startswith("keys/window")}
    for _, _, title, keys in commands():
        if keys:
            assert title in words, title
    window.press("Escape")


def cut_names_show_whole(world):
    window = world.open(world.demo, size=(700, 500))
    cut = next(i for i in window.items if i["kind"] == "text" and i["elided"] and i["rect"][3] < i["clip"][3] and i["rect"][0] > i["clip"][0])
    before = window.read()
    window._move((cut["rect"][0] + cut["rect"][2]) / 2, (cut["rect"][1] + cut["rect"][3]) / 2)
    window.settle(before)
    shown = " ".join(i["text"] for i in window.items if i["layer"] == 2)
    assert cut["text"] in shown, (cut["text"], shown)
    window.close()


def names_are_literal(world):
    """Names with ##, %, control characters and marks of direction are shown as they are, each on a line."""
    path = world.folder / "names.db"
    shutil.copy(world.demo, path)
    store = sqlite3.connect(path)
    store.execute("update strategy set label = ? where id = 'ulysses'", ("a##b %s %n \x1b[31m\u202ebad",))
    store.commit()
    store.close()
    window = world.open(path)
    words = " ".join(window.texts())
    assert "a##b %s %n" in words and "\x1b" not in words and "\u202e" not in words, words[:500]
    window.close()


def file_changes_are_told(world):
    path = shutil.copy(world.demo, world.folder / "changing.db")
    window = world.open(path)
    shutil.copy(world.demo, world.folder / "new.db")
    (world.folder / "new.db").replace(path)
    window.wait_for(lambda state: any("has changed on disk" in i["text"] for i in state["items"]), "the file was replaced")
    window.click("changed/action")
    assert not window.says("has changed on disk")
    path.unlink()
    window.wait_for(lambda state: any("was removed" in i["text"] for i in state["items"]), "the file was removed")
    window.close()
