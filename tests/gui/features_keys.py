"""Every command of gui/app/commands.def by each of its keys: what its title says has happened. A command without a row
here, or a row without a command, is a failure."""
from world import axis, commands, select_op, views


def _views_by_number(window, number):
    """Commands name the views of the rail after Start in their order; a view that is not there moves all after it."""
    titles = [t for i, _, t, _ in commands() if i.startswith("kView")][:number]
    known = {t: i for i, t, _ in views()}
    absent = [t for t in titles if t not in known]
    if absent:
        return f"views.def has no {', '.join(absent)}"
    return lambda: f"#{known[titles[-1]]}" in window.link


def _changed_axis(window, judge):
    begin, end = axis(window)
    return lambda: judge(begin, end, *axis(window))


def _shorter(begin, end, b, e):
    return e - b < end - begin


def _longer(begin, end, b, e):
    return e - b > end - begin


def _earlier(begin, end, b, e):
    return b < begin and abs((e - b) - (end - begin)) < 2


def _later(begin, end, b, e):
    return b > begin and abs((e - b) - (end - begin)) < 2


def _zoomed(window):
    window.press("Home")
    window.press("Shift+W")


def _op_after(window, judge):
    before = window.link
    return lambda: window.link != before and judge(_part(before, "op"), _part(window.link, "op"), window)


def _part(link, name):
    for part in link.partition("?")[2].split("&"):
        if part.startswith(name + "="):
            return part[len(name) + 1:]
    return None


def _selected(window):
    return next(b["selected"] for b in window.view["bands"] if "selected" in b)


def press_all(world, command):
    """Presses each key of a command in a window that suits it; returns why it was left out, if it was."""
    keys = next(k for i, _, _, k in commands() if i == command)
    for key in keys:
        reason = EFFECTS[command](world, key)
        if reason:
            return reason
    return None


def _check(window, key, holds):
    window.press(key)
    assert holds(), f"{key}: {window.link} {window.view if isinstance(window.view, list) is False and len(str(window.view)) < 300 else ''}"


def _app(prepare):
    def effect(world, key):
        window = world.window("overview")
        holds = prepare(window)
        if isinstance(holds, str):
            return holds
        _check(window, key, holds)
        window.press("Escape")
        return None
    return effect


def _time(prepare):
    def effect(world, key):
        window = world.window("timeline")
        holds = prepare(window)
        _check(window, key, holds)
        window.press("Escape")
        return None
    return effect


def _own(arguments, holds):
    def effect(world, key):
        window = world.open(*arguments(world))
        _check(window, key, lambda: holds(window))
        window.close()
        return None
    return effect


def _scale(before, judge):
    def prepare(window):
        window.press("Ctrl+0")
        if before:
            window.press(before)
        scale = window.state["scale"]
        return lambda: judge(scale, window.state["scale"])
    return _app(prepare)


def _go_to_time(world, key):
    """The time that is typed is in the middle of what is shown."""
    window = world.window("timeline")
    window.press(key)
    window.type("1.2ms")
    window.press("Enter")
    begin, end = axis(window)
    assert abs((begin + end) / 2 - 1.2e6) < 2, (begin, end)


def _toggle(name):
    def effect(world, key):
        window = world.window("timeline")
        there = window.has(name)
        window.press(key)
        assert window.has(name) != there, key
        window.press(key)
        assert window.has(name) == there, key
    return effect


def _theme(world, key):
    window = world.window()
    before = window.state["theme"]
    window.press(key)
    assert window.state["theme"] != before
    window.press(key)
    assert window.state["theme"] == before


def _motion(world, key):
    window = world.window("heads")
    assert window.item("heads/main/play")["text"] == "Play"
    window.press(key)
    assert window.item("heads/main/play")["text"] == "Next step"
    window.press(key)
    assert window.item("heads/main/play")["text"] == "Play"


def _quit(world, key):
    window = world.open(world.demo)
    window._xdotool("key", "ctrl+q")
    assert window.process.wait(10) == 0
    window.close()


def _reload(world, key):
    window = world.window("overview")
    answered = window.state["answered"]
    window.press(key)
    window.wait_for(lambda state: state["answered"] > answered, "the file is read again")


def _go_to(world, key):
    window = world.window("overview")
    window.press(key)
    window.type("layer 1 denoise step 2")
    window.press("Enter")
    assert "layer=1" in window.link and "step=2" in window.link, window.link
    window.press("Alt+Left")


def _palette(world, key):
    window = world.window("overview")
    window.press(key)
    window.type("light or dark")
    before = window.state["theme"]
    window.press("Enter")
    assert window.state["theme"] != before
    window.press("Ctrl+Shift+L")


def _copy(world, key):
    window = world.window("timeline")
    window.click("events/rows/row 0 attend", "row")
    window.press(key)
    copied = window.clipboard("timeline/main/find")
    assert "attend" in copied, copied


def _find(world, key):
    window = world.window("timeline")
    window.press(key)
    window.type("exchange")
    assert "name=exchange" in window.link, window.link
    window.press("Ctrl+A", "Delete", "Escape")


def _range(world, key):
    window = world.window("timeline")
    window.press("Home")
    window.press(key)
    assert window.item("timeline/main/range")["selected"]
    left, top, right, bottom = window.item("bands/area")["rect"]
    y, width = top + 60, right - left
    window.drag((left + 0.25 * width, y), (left + 0.5 * width, y))
    part = _part(window.link, "t")
    assert part and part.count("..") == 1, window.link
    window.click("table/whole")


def _zoom_selection(world, key):
    window = world.window("timeline?s=ulysses")
    window.press("Home")
    select_op(window)
    before = axis(window)
    window.press(key)
    begin, end = axis(window)
    item = next(i for i in window.items if i["selected"] and i["kind"] == "mark")
    share = (item["rect"][2] - item["rect"][0]) / (window.item("bands/area")["rect"][2] - window.item("bands/area")["rect"][0])
    assert end - begin < before[1] - before[0] and share > 0.5, (share, begin, end)
    if key == "F":
        window.press(key)
        assert axis(window) == before, "again: all"
    window.press("Home")


def _step(judge):
    def effect(world, key):
        window = world.window("timeline?s=ulysses")
        window.press("Home")
        select_op(window, rank=3)
        if key in ("Comma", "Shift+Comma"):
            window.press("Shift+Period") if key == "Shift+Comma" else window.press("Period")
        before = dict(_selected(window)), _part(window.link, "rank")
        window.press(key)
        after = dict(_selected(window)), _part(window.link, "rank")
        judge(before, after)
        window.press("Home")
    return effect


def _same_row(before, after):
    assert after[1] == before[1] and after[0]["op"] != before[0]["op"], (before, after)


def _same_name(before, after):
    assert after[1] == before[1] and after[0]["name"] == before[0]["name"], (before, after)


def _next_rank(by):
    def judge(before, after):
        assert int(after[1]) == int(before[1]) + by and after[0]["name"] == before[0]["name"], (before, after)
    return judge


def _bookmark(world, key):
    window = world.window("timeline")
    _zoomed(window)
    place = axis(window)
    window.press(key)
    rows = [i for i in window.items if "/bookmarks/rows/row " in i["path"] and i["kind"] == "row"]
    assert rows, "the bookmark is in the table"
    window.press("Home")
    window.click(rows[-1]["path"])
    assert all(abs(a - b) <= 1 for a, b in zip(axis(window), place)), (axis(window), place)
    window.click("tab/Events by name")
    window.press("Home")


def _pin(world, key):
    window = world.window("timeline?s=ulysses")
    top = lambda: min((i["rect"][1], i["text"]) for i in window.items if "/band ulysses/rank " in i["path"] and i["kind"] == "row")[1]
    window.click("band ulysses/rank 5", "row")
    window.press(key)
    assert top() == "rank 5" and window.says("rank 5 (pinned)"), top()
    window.press(key)
    assert top() == "rank 0", top()


def _play(world, key):
    window = world.window("heads")
    window.press(key, rest=False)
    window.wait_for(lambda s: "step=" in s["link"], "the next denoise step is shown")
    window.press(key, rest=False)
    window.wait_for(lambda s: not s["busy"] and window.item("heads/main/play")["text"] == "Play", "it stops")


def _close_file(world, key):
    window = world.open(world.demo)
    window.press(key)
    assert not window.has("top/line/file 0/tab") and "#start" in window.link
    window.close()


EFFECTS = {
    "kOpenFile": _app(lambda w: lambda: "#start" in w.link),
    "kCloseFile": _close_file,
    "kReload": _reload,
    "kBack": _app(lambda w: (w.click("rail/views/timeline"), lambda: "#overview" in w.link)[1]),
    "kForward": _app(lambda w: (w.click("rail/views/timeline"), w.press("Alt+Left"), lambda: "#timeline" in w.link)[2]),
    "kCopyLink": _app(lambda w: lambda: w.says("is on the clipboard")),
    "kGoTo": _go_to,
    "kPalette": _palette,
    "kKeys": _app(lambda w: lambda: any(i["path"].startswith("keys/window") for i in w.items)),
    "kFullView": _toggle("rail/views/start"),
    "kDetails": _toggle("details splitter"),
    "kTable": _toggle("table splitter"),
    "kTheme": _theme,
    "kMotion": _motion,
    "kScaleUp": _scale(None, lambda a, b: abs(b / a - 1.1) < 0.02),
    "kScaleDown": _scale(None, lambda a, b: abs(a / b - 1.1) < 0.02),
    "kScaleReset": _scale("Ctrl+Plus", lambda a, b: a > 1 and b == 1),
    "kCopy": _copy,
    "kFind": _find,
    **{f"kView{n}": _app(lambda w, n=n: _views_by_number(w, n)) for n in range(1, 9)},
    "kStart": _app(lambda w: lambda: "#start" in w.link),
    "kQuit": _quit,
    "kZoomIn": _time(lambda w: _changed_axis(w, _shorter)),
    "kZoomOut": _time(lambda w: (_zoomed(w), _changed_axis(w, _longer))[1]),
    "kPanLeft": _time(lambda w: (_zoomed(w), w.press("D"), _changed_axis(w, _earlier))[2]),
    "kPanRight": _time(lambda w: (_zoomed(w), _changed_axis(w, _later))[1]),
    "kZoomInFast": _time(lambda w: (w.press("Home"), _changed_axis(w, lambda b, e, x, y: (e - b) / (y - x) > 2))[1]),
    "kZoomOutFast": _time(lambda w: (_zoomed(w), w.press("Shift+W"), _changed_axis(w, lambda b, e, x, y: (y - x) / (e - b) > 2))[2]),
    "kPanLeftFast": _time(lambda w: (_zoomed(w), w.press("Shift+W"), w.press("Shift+D"), _changed_axis(w, _earlier))[3]),
    "kPanRightFast": _time(lambda w: (_zoomed(w), w.press("Shift+W"), _changed_axis(w, _later))[2]),
    "kSelectRange": _range,
    "kZoomSelection": _zoom_selection,
    "kFitSelection": _zoom_selection,
    "kAll": _time(lambda w: (_zoomed(w), _changed_axis(w, lambda b, e, x, y: x <= 0 and y > e))[1]),
    "kPreviousEvent": _step(_same_row),
    "kNextEvent": _step(_same_row),
    "kPreviousSame": _step(_same_name),
    "kNextSame": _step(_same_name),
    "kPreviousRank": _step(_next_rank(-1)),
    "kNextRank": _step(_next_rank(1)),
    "kGoToTime": _go_to_time,
    "kBookmark": _bookmark,
    "kPin": _pin,
    "kPlay": _play,
}
