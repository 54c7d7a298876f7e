"""Frame, scope, link, states and looks: gui.md 1 and 2."""
import json
import shutil

from window import Display, Window
from world import axis, commands, views


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
    # Each view is about the file whose tab is chosen, also what is exported and asked.
    for number, name in ((1, "other"), (0, "demo")):
        window.click(f"top/line/file {number}/tab")
        window.click("rail/views/report")
        assert window.item("export/path")["value"].endswith(f"/{name}.html") and len(window.view["report"]) == 1, (name, window.view)
        window.click("rail/views/sql")
        assert window.view["file"] == f"{name}.db" and window.item("sql/main/file")["value"] == f"{name}.db", window.view
    window.click("rail/views/balance")
    assert not window.says(" · "), "of one file no name has it behind it"
    window.click("top/line/file 1/close")
    assert [i["text"] for i in window.find("tab")] == ["demo.db"] and "other.db" not in window.link
    window.click("top/line/open")
    assert "#start" in window.link
    window.click("top/line/file 0/tab")
    assert "#overview" in window.link
    window.close()


def splitters_move(world):
    """By a drag of a hand; the way to a splitter is no part of it, also where the press comes in the same frame."""
    window = world.window("timeline")
    window.press("Ctrl+Shift+T")
    for name, axis_of in (("details splitter", 0), ("table splitter", 1)):
        rect = lambda: window.item(name, "splitter")["rect"]
        before = rect()
        middle = [(before[0] + before[2]) / 2, (before[1] + before[3]) / 2]
        for away in (200, 600):
            window.hover_at(away, 300)
            before_press = window.read()
            window._xdotool("mousemove", "--window", window.id, *map(round, middle), "click", 1)
            window.settle(before_press, 2)
            assert rect() == before, away
        moved = list(middle)
        moved[axis_of] -= 60
        window.drag(middle, moved)
        assert abs((before[axis_of] - rect()[axis_of]) - 60) < 8, (before, rect())


def status_line(world):
    window = world.window()
    words = [i["text"] for i in window.items if i["path"] == "status/line"]
    (events,), = world.sql(world.demo, "select count(*) from event")
    assert any("compute modelled, network scheduled" in w and f"{events:,} events" in w for w in words), (words, events)


def scope_strategies(world):
    window = world.window("timeline")
    told = world.json_of("compare", world.demo, "--json")["strategies"]
    makespans, waits = {s["id"]: s["makespan_ns"] for s in told}, {s["id"]: sum(s["wait_late_peer_ns"]) for s in told}
    window.click("scope/strategies")
    window.click("0 ring", "checkbox")
    window.press("Escape")
    assert window.item("scope/strategies")["text"] == "4 of 5 strategies" and "s=ulysses,usp" in window.link, window.link
    first = max(waits, key=waits.get)
    assert first not in ("ring", min(makespans, key=makespans.get)), waits
    assert [b["strategy"] for b in window.view["bands"]] == [first, *sorted(
        (s for s in makespans if s not in (first, "ring")), key=makespans.get)], "first where ranks wait, then the fastest"
    window.click("scope/strategies")
    window.click("scope/strategies menu/all")
    window.press("Escape")
    assert len(window.view["bands"]) == 5


def scope_pass(world):
    window = world.window("timeline")
    slowest = (window.view["layer"], window.view["denoise_step"])
    explained = world.json_of("explain", world.demo, "--json")
    assert slowest == (explained["layer"], explained["denoise_step"]), "the window, explain and reports show one pass"
    window.choose("scope/layer", "scope/layer/layer 1")
    window.choose("scope/step", "scope/step/denoise step 2")
    assert "layer=1" in window.link and "step=2" in window.link
    assert (window.view["layer"], window.view["denoise_step"]) == (1, 2)
    window.choose("scope/layer", f"scope/layer/layer {slowest[0]} (slowest)")
    window.choose("scope/step", f"scope/step/denoise step {slowest[1]} (slowest)")
    assert (window.view["layer"], window.view["denoise_step"]) == slowest and "layer=" not in window.link


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


def an_error_is_said(world):
    """What, where and the number; Copy copies it; the app goes on, and the file stays neither as a tab nor as a recent one."""
    broken = world.folder / "broken.db"
    broken.write_bytes(b"no store at all\n" * 100)
    window = world.open(broken, "--settings", world.folder / "broken-settings.json")
    words = " ".join(i["text"] for i in window.items if "/failed/error" in i["path"])
    assert "SPS" in words and "broken.db" in words, window.texts()
    window.click("error/action")
    window.click("rail/views/start")
    assert window.view["recent"] == [], window.view
    window.click("start/main/browse")
    copied = window.clipboard("browser/path")
    assert "SPS-" in copied and "broken.db" in copied, copied
    window.fill("browser/path", str(world.demo))
    window.press("Enter")
    window.wait_for(lambda s: [i["text"] for i in window.find("tab")] == ["demo.db"] and not s["busy"], "the demo is open")
    window.click("rail/views/start")
    assert [path.rsplit("/", 1)[1] for path in window.view["recent"]] == ["demo.db"]
    window.close()


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
    run = world.run("clear.db", 'run.strategies=["ulysses", "ring", "dbsp"]')  # where the first two are told apart
    window = world.open(run)
    window.hover("rail/views/overview")  # and not over a row
    strategies = world.json_of("report", run, "--json")["strategies"]
    best = min((s for s in strategies if s["makespan_ns"]), key=lambda s: s["makespan_ns"])["label"]
    backs = {i["text"]: i["back"] for i in window.items if i["path"].endswith("table/rows") and i["text"] in {s["label"] for s in strategies}}
    assert [label for label, back in backs.items() if list(backs.values()).count(back) == 1] == [best], backs
    window.close()


def loading_state(world):
    """While a question takes long, what was there stays, words come after 0.3 s, other views are shown; Cancel ends it."""
    window = world.window("sql")
    window.ask("select 7 as seven")
    window.wait_for(lambda s: s["view"].get("rows") == 1, "the first answer")
    window.ask(LONG_QUESTION, rest=False)
    window.wait_for(lambda s: any("asked" in i["text"] and "ago" in i["text"] for i in s["items"]), "words of the question under way")
    assert window.view["columns"] == ["seven"], "the old rows stay"
    window.wait_for(lambda s: any(i["path"].endswith("/dimmed") for i in s["items"]), "and are dimmed")
    window.click("rail/views/overview", rest=False)
    window.wait_for(lambda s: "#overview" in s["link"], "the window does not wait for it")
    window.click("rail/views/sql", rest=False)
    window.wait_for(lambda s: window.has("sql/main/cancel"), "the question is under way")
    window.click("sql/main/cancel", rest=False)
    window.wait_for(lambda s: not s["busy"] and not window.has("sql/main/cancel"), "it ends")


# Minutes of counting.
LONG_QUESTION = "with recursive n(i) as (select 1 union all select i + 1 from n limit 4000000000) select sum(i) from n"


def settings_are_kept(world):
    """At first the window is dark or light as the desktop is; what the user chooses is kept, and files that were opened."""
    settings = world.folder / "settings.json"
    for theme in ("dark", "light"):
        desktop = {"XDG_CONFIG_HOME": str(world.folder), "PATH": "/nowhere", "GTK_THEME": f"Adwaita:{theme}"}  # no gsettings
        window = world.open(world.demo, "--settings", settings, environment=desktop)
        assert window.state["theme"] == theme, window.state["theme"]
        if theme == "light":
            window.press("Ctrl+Shift+L", "Ctrl+Plus")
            scale = window.state["scale"]
        window.close()
    kept = json.loads(settings.read_text())
    assert kept["theme"] == "dark" and str(world.demo) in kept["recent"]
    again = world.open(world.demo, "--settings", settings, environment=desktop)
    assert again.state["theme"] == "dark" and abs(again.state["scale"] - scale) < 1e-3 and scale > 1
    again.close()


def _focused(window):
    return next((i["path"] for i in window.items if i["focused"]), "")


def keyboard_reaches_controls(world):
    """Arrows go from control to control, in the rail to each of its views, and on into the view."""
    window = world.open(world.demo)
    rail = {f"rail/views/{view}" for view, _, _ in views()}
    reached = set()
    window.press("Tab")
    for key in ("Up", "Down"):
        for _ in range(len(rail) + 4):
            if not rail <= reached:
                window.press(key)
                reached.add(_focused(window))
    assert rail <= reached, (rail - reached, reached)
    for key in (*["Right", "Up"] * 3, *["Tab"] * 12):  # not each view has a control beside it; Dear ImGui 1.92 leaves a pane by Tab
        if _focused(window).startswith("rail/"):
            window.press(key)
    assert _focused(window) and not _focused(window).startswith("rail/"), _focused(window)
    window.close()


def keyboard_reaches_words(world):
    """Arrows go from the rail to the hint and to a word of a sentence, which Space presses."""
    window = world.open(world.demo)
    window.press("Tab")
    for key, wanted in (("Down", "rail/views/timeline"), ("Right", "hint/action"), ("Down", "/conclusion/")):
        for _ in range(len(views())):
            if wanted not in _focused(window):
                window.press(key)
    assert window.item(_focused(window))["kind"] == "link", _focused(window)
    before = window.link
    window.press("Space")
    assert window.link != before, before
    window.close()


def palette_lists_first_commands_and_finds_others(world):
    window = world.window()
    window.press("Ctrl+Shift+P")
    for _, _, title, _ in commands()[:10]:
        assert window.has("palette/window/" + title), title
    for _, _, title, _ in commands()[10::5]:
        window.press("Ctrl+A")
        window.type(title[:12])
        assert window.has("palette/window/" + title), title
    window.press("Escape")
    assert not window.has("palette/window/question"), "one Escape closes it"


def names_are_literal(world):
    """Names with ##, %, control characters and marks of direction are shown as they are, each on a line."""
    window = world.open(world.changed_copy("names.db", "update strategy set label = 'a##b %s %n \x1b[31m\u202ebad' where id = 'ulysses'"))
    words = " ".join(window.texts())
    assert "a##b %s %n" in words and "\x1b" not in words and "\u202e" not in words, words[:500]
    window.close()


def keys_can_be_changed(world):
    """Tooltips have the keys of the command table, and those that the user gave."""
    settings = world.folder / "keys.json"
    settings.write_text(json.dumps({"keys": [{"command": "kZoomIn", "keys": "Q"}]}))
    window = world.open(f"{world.demo}#timeline", "--settings", settings)
    before = axis(window)
    window.press("W")
    assert axis(window) == before
    window.press("Q")
    assert axis(window)[1] < before[1]
    for name, tip in (("timeline/main/zoom in", "Zoom in (Q)"), ("timeline/main/zoom out", "Zoom out (S)"), ("rail/views/heads", "Ctrl+3")):
        window.hover(name)
        said = window.tooltip if "rail" not in name else [i["text"] for i in window.items if i["path"] == "rail/views"]
        assert tip in said and ("rail" not in name or not window.tooltip), (tip, said)
    window.close()


def a_window_fits_its_screen(world):
    """Without a size of its own it is no larger than the screen: Menu and the line at its foot are on it."""
    with Display((1280, 720)) as display:
        window = Window(display, world.demo, program=world.program, size=None)
        for name in ("rail/views/menu", "status/line"):
            rect = next(i["rect"] for i in window.items if i["path"] == name)
            assert rect[2] <= 1280 and rect[3] <= 720, (name, rect)
        window.close()


def empty_states_say_why(world):
    """Without what a view is for it says what is missing, and has a button that leads on: (file, link, words, button, what holds
    after it)."""
    illegal = world.run("illegal.db", 'run.strategies=["ring", "dsp"]')  # dsp has no axis to switch to in this model
    repeats = world.changed_copy("repeats-without.db", "update repeat set has_timeline = 0 where repeat < 2", of=world.executed)
    strategy, = world.sql(repeats, "select id from strategy limit 1")[0]
    for file, link, words, button, holds in (
            ("", "#timeline", "No file is open.", "no file/action", lambda w: "#start" in w.link),
            (illegal, "#timeline?s=dsp", "", "none chosen/action", lambda w: "s=" not in w.link and w.has("band ring/rank 0", "row")),
            (world.demo, "#compare?s=ring", "A comparison needs two.", "one/action",
             lambda w: w.view["from"] != w.view["to"] and "s=" not in w.link),
            (world.changed_copy("no-timeline.db", "update repeat set has_timeline = 0"), "#timeline", "no timeline", None, None),
            (repeats, f"#timeline?repeat=0&s={strategy}", "Show repeat 2", f"band {strategy}/other repeat",
             lambda w: "repeat=2" in w.link and w.has(f"band {strategy}/rank 0", "row"))):
        window = world.open(f"{file}{link}")
        window.wait_for(lambda s: window.says(words) and (button is None or window.has(button)), words or button)
        if button:
            window.click(button)
            window.wait_for(lambda s: not s["busy"] and holds(window), f"what {button} leads to")
            assert not window.has(button)
        window.close()
