"""What is looked at where several files are open, and the menu: gui.md 1 and 4."""
from world import commands


def _own(world):
    """A run of one layer pass, which is not the slowest one of the demo."""
    path = world.one_pass()
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
    window.close()


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


def menu_lists_commands(world):
    """All that can be done everywhere, with its keys; a press does it. Of the size of texts the menu says how large it is."""
    window = world.window("timeline")
    window.click("rail/views/menu")
    for command, group, title, _ in commands():
        if group == "app" and not command.startswith("kView") and command != "kStart":
            assert window.item("commands/" + command)["text"] == title
    assert window.says("Ctrl+Shift+L") and window.says("Size of texts and controls: 100 %")
    button = window.item("rail/views/menu")["rect"]
    assert window.item("commands/kQuit")["rect"][3] <= button[1], "above, where there is more room"
    for percent in (110, 125, 150):
        window.click("commands/kScaleUp")
        assert window.says(f"Size of texts and controls: {percent} %") and abs(window.state["scale"] - percent / 100) < 0.01
    window.click("commands/kScaleReset")
    assert not window.has("commands/kKeys") and window.state["scale"] == 1
    field = window.item("scope/layer", "choice")["rect"]
    window.click("scope/layer", "choice")
    first = window.item("scope/layer/layer 0", "button", first=True)["rect"]
    assert first[1] >= field[3] and abs(first[0] - field[0]) < 30, "below its field"
