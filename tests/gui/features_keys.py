"""Every command of gui/app/commands.def by each of its keys: what its title says has happened. A command that no table
here has is a failure. Commands of a table share a window, which each leaves as it was."""
from world import FEW_PIXELS, axis, commands, select_op, views


def _press_all(window, effects):
    for command, _, _, keys in commands():
        for key in keys if command in effects else ():
            try:
                effects[command](window, key)
            except AssertionError as fault:
                raise AssertionError(f"{command} by {key}: {fault}") from fault


# -- in every view

def _leads_to(view, *before):
    def effect(window, key):
        window.click("rail/views/overview")
        for step in before:
            step(window)
        window.press(key)
        assert f"#{view}" in window.link, window.link
        window.press("Escape")
    return effect


def _to_timeline(window):
    window.click("rail/views/timeline")


def _reload(window, key):
    answered = window.state["answered"]
    window.press(key)
    window.wait_for(lambda state: state["answered"] > answered, "the file is read again")


def _copy_link(window, key):
    window.press(key)
    assert window.says("is on the clipboard")


def _go_to(window, key):
    window.press(key)
    window.type("layer 1 denoise step 2")
    window.press("Enter")
    assert "layer=1" in window.link and "step=2" in window.link, window.link
    window.press("Alt+Left")


def _palette(window, key):
    window.press(key)
    window.type("dark theme")
    before = window.state["theme"]
    window.press("Enter")
    assert window.state["theme"] != before


def _page_of_keys(window, key):
    window.press(key)
    words = {i["text"] for i in window.items if i["path"].startswith("keys/window")}
    assert not [title for _, _, title, keys in commands() if keys and title not in words]
    assert not [i["text"] for i in window.items if i["path"].startswith("keys/window") and i["elided"]]
    window.press("Escape")


def _theme(window, key):
    backs = {}
    for _ in range(2):
        backs[window.state["theme"]] = {i["back"] for i in window.items if i["kind"] == "text"}
        window.press(key)
    assert set(backs) == {"dark", "light"} and not backs["dark"] & backs["light"], backs


def _scales_by(ratio, before="Ctrl+0"):
    def effect(window, key):
        window.press("Ctrl+0", before)
        scale = window.state["scale"]
        window.press(key)
        assert abs(window.state["scale"] / scale / ratio - 1) < 0.02, (scale, window.state["scale"])
        window.press("Ctrl+0")
    return effect


KNOWN = {title: view for view, title, _ in views()}
APP = {
    "kOpenFile": _leads_to("start"),
    "kReload": _reload,
    "kBack": _leads_to("overview", _to_timeline),
    "kForward": _leads_to("timeline", _to_timeline, lambda window: window.press("Alt+Left")),
    "kCopyLink": _copy_link,
    "kGoTo": _go_to,
    "kPalette": _palette,
    "kKeys": _page_of_keys,
    "kTheme": _theme,
    "kScaleUp": _scales_by(1.1),
    "kScaleDown": _scales_by(1 / 1.1),
    "kScaleReset": _scales_by(1 / 1.1, before="Ctrl+Plus"),
    **{command: _leads_to(KNOWN[title]) for command, _, title, _ in commands() if command.startswith("kView")},
    "kStart": _leads_to("start"),
}


def keys_of_the_app(world):
    _press_all(world.window(size=FEW_PIXELS), APP)


# -- in the timeline

def _part(link, name):
    return dict(part.split("=", 1) for part in link.partition("?")[2].split("&") if "=" in part).get(name)


def _shows(name, changes=lambda window: ()):
    """The key takes something away, and brings it back; `changes`: what else is not the same in between."""
    def effect(window, key):
        before = changes(window)
        assert window.has(name)
        window.press(key)
        assert not window.has(name) and (changes(window) != before or not before), name
        window.press(key)
        assert window.has(name) and changes(window) == before, name
    return effect


def _axis(judge, *before):
    """What a key does to the range of times: judge(begin, end, begin after, end after), from Home and some keys."""
    def effect(window, key):
        window.press("Home", *before)
        begin, end = axis(window)
        window.press(key)
        assert judge(begin, end, *axis(window)), (begin, end, axis(window))
    return effect


def _moves(sign):
    return lambda begin, end, b, e: sign * (b - begin) > 0 and abs((e - b) - (end - begin)) < 2


def _copy(window, key):
    window.click("events/rows/row 0 attend", "row")
    window.press(key)
    copied = window.clipboard("timeline/main/find")
    assert "attend" in copied, copied


def _find(window, key):
    window.press(key)
    window.type("exchange kv")
    rows = set(window.rows("events"))
    assert "name=exchange" in window.link and rows and all("exchange kv" in r for r in rows), (window.link, rows)
    window.press("Ctrl+A", "Delete", "Escape")


def _range(window, key):
    window.press("Home")
    window.press(key)
    assert window.item("timeline/main/range")["selected"]
    left, top, right, bottom = window.item("bands/area")["rect"]
    y, width = top + 60, right - left
    window.drag((left + 0.25 * width, y), (left + 0.5 * width, y))
    part = _part(window.link, "t")
    assert part and part.count("..") == 1, window.link
    window.click("table/whole")
    assert not _part(window.link, "t"), window.link


def _zoom_selection(window, key):
    window.press("Home")
    select_op(window, "ring")
    before = axis(window)
    window.press(key)
    begin, end = axis(window)
    item = next(i for i in window.items if i["selected"] and i["kind"] == "mark")
    share = (item["rect"][2] - item["rect"][0]) / (window.item("bands/area")["rect"][2] - window.item("bands/area")["rect"][0])
    assert end - begin < before[1] - before[0] and share > 0.5, (share, begin, end)
    if key == "F":
        window.press(key)
        assert axis(window) == before, "again: all"


def _step(ranks, same_name, before=None):
    """From an attend of rank 3, and a key, to another operation: so many ranks on, of the same name or not."""
    def selected(window):
        return next(b["selected"] for b in window.view["bands"] if "selected" in b), int(_part(window.link, "rank"))

    def effect(window, key):
        window.press("Home")
        select_op(window, "ring", rank=3)
        if before:
            window.press(before)
        op, rank = selected(window)
        window.press(key)
        other, other_rank = selected(window)
        assert other["op"] != op["op"] and other_rank == rank + ranks and (other["name"] == op["name"]) >= same_name, (op, other)
    return effect


def _go_to_time(window, key):
    """The time that is typed is in the middle of what is shown; what is no time, or lies outside, is said beside the field."""
    window.press("Home")
    before = axis(window)
    for text, said in (("12 parsecs", "is no time"), ("99s", "is outside")):
        window.press(key, "Ctrl+A")
        window.type(text)
        window.press("Enter")
        assert window.says(said) and axis(window) == before, text
    window.press(key, "Ctrl+A")
    window.type("1.2ms")
    window.press("Enter")
    begin, end = axis(window)
    assert abs((begin + end) / 2 - 1.2e6) < 2 and not window.says("is outside"), (begin, end)
    window.press("Escape")


def _bookmark(window, key):
    window.press("Home", "Shift+W")
    place = axis(window)
    window.press(key)
    rows = [i for i in window.items if "/bookmarks/rows/row " in i["path"] and i["kind"] == "row"]
    assert rows, "the bookmark is in the table"
    window.press("Home")
    window.click(rows[-1]["path"])
    assert all(abs(a - b) <= 1 for a, b in zip(axis(window), place)), (axis(window), place)
    window.click("tab/Events by name")


def _pin(window, key):
    top = lambda: min((i["rect"][1], i["text"]) for i in window.items if "/band ring/rank " in i["path"] and i["kind"] == "row")[1]
    window.click("band ring/rank 5", "row")
    window.press(key)
    assert top() == "rank 5" and window.says("rank 5 (pinned)"), top()
    window.press(key)
    assert top() == "rank 0", top()


TIMELINE = {
    "kFullView": _shows("rail/views/start", lambda window: window.item("bands/area")["rect"]),
    "kDetails": _shows("details splitter"),
    "kTable": _shows("table splitter"),
    "kCopy": _copy,
    "kFind": _find,
    "kZoomIn": _axis(lambda b, e, x, y: y - x < e - b),
    "kZoomOut": _axis(lambda b, e, x, y: y - x > e - b, "Shift+W"),
    "kPanLeft": _axis(_moves(-1), "Shift+W", "D"),
    "kPanRight": _axis(_moves(1), "Shift+W"),
    "kZoomInFast": _axis(lambda b, e, x, y: (e - b) / (y - x) > 2),
    "kZoomOutFast": _axis(lambda b, e, x, y: (y - x) / (e - b) > 2, "Shift+W", "Shift+W"),
    "kPanLeftFast": _axis(_moves(-1), "Shift+W", "Shift+W", "Shift+D"),
    "kPanRightFast": _axis(_moves(1), "Shift+W", "Shift+W"),
    "kSelectRange": _range,
    "kZoomSelection": _zoom_selection,
    "kFitSelection": _zoom_selection,
    "kAll": _axis(lambda b, e, x, y: x <= 0 and y > e, "Shift+W"),
    "kPreviousEvent": _step(0, False, "Period"),
    "kNextEvent": _step(0, False),
    "kPreviousSame": _step(0, True, "Shift+Period"),
    "kNextSame": _step(0, True),
    "kPreviousRank": _step(-1, True),
    "kNextRank": _step(1, True),
    "kGoToTime": _go_to_time,
    "kBookmark": _bookmark,
    "kPin": _pin,
}


def keys_of_the_timeline(world):
    window = world.window("timeline?s=ring", FEW_PIXELS)
    window.press("Ctrl+Shift+T")  # the table is folded at first
    _press_all(window, TIMELINE)


# -- elsewhere

def _motion(window, key):
    for words in ("Next step", "Play"):
        window.press(key)
        assert window.item("heads/main/play")["text"] == words


def _play(window, key):
    window.press(key, rest=False)
    window.wait_for(lambda s: "step=" in s["link"], "the next denoise step is shown")
    window.press(key, rest=False)
    window.wait_for(lambda s: not s["busy"] and window.item("heads/main/play")["text"] == "Play", "it stops")


def _close_file(window, key):
    window.press(key)
    assert not window.has("top/line/file 0/tab") and "#start" in window.link


def _quit(window, key):
    window._xdotool("key", "ctrl+q")
    assert window.process.wait(10) == 0


# In this order, since the last ones end what they are pressed in.
ELSEWHERE = {"kMotion": _motion, "kPlay": _play, "kCloseFile": _close_file, "kQuit": _quit}


def keys_of_files_and_heads(world):
    window = world.window("heads")
    for command, effect in ELSEWHERE.items():
        _press_all(window, {command: effect})
