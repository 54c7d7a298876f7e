"""Pointer and tables: gui.md 3."""
import json

from world import FEW_PIXELS, axis


def _area(window):
    left, top, right, bottom = window.item("bands/area")["rect"]
    return left, top, right - left, bottom - top


def _home(world):
    window = world.window("timeline", FEW_PIXELS)
    window.press("Home")
    return window


def wheel_zooms_at_pointer(world):
    window = _home(world)
    begin, end = axis(window)
    at = begin + 0.25 * (end - begin)
    left, top, width, _ = _area(window)
    window.wheel_at(left + 0.25 * width, top + 60, 4, times=3)
    b, e = axis(window)
    assert e - b < 0.8 * (end - begin) and abs((at - b) / (e - b) - 0.25) < 0.01, (begin, end, b, e)
    window.wheel_at(left + 0.25 * width, top + 60, 5, times=3)
    assert abs(axis(window)[1] - end) / end < 0.01


def drag_and_shift_wheel_pan(world):
    window = _home(world)
    window.press("Shift+W")
    begin, end = axis(window)
    left, top, width, _ = _area(window)
    window.drag((left + 0.6 * width, top + 60), (left + 0.4 * width, top + 60))
    b, e = axis(window)
    moved = (b - begin) / (end - begin)
    assert 0.15 < moved < 0.25 and abs((e - b) - (end - begin)) < 2, moved
    window.wheel_at(left + 0.5 * width, top + 60, 5, times=2, keys=["shift"])
    further = axis(window)
    assert further[0] > b and abs((further[1] - further[0]) - (e - b)) < 2, (b, e, further)


def table_sorts_and_filters(world):
    """By a column up, down and as given; by words; columns are hidden and shown."""
    window = _home(world)
    window.click("tab/Events by name")  # it unfolds the table
    given, orders = window.rows("events"), []
    for _ in range(3):
        window.click("events/rows/sort event")
        orders.append(window.rows("events"))
    up, down, last = orders
    assert up == sorted(up) and down == sorted(down, reverse=True) and up != down and last == given, (given, orders)
    count = lambda: next(i["text"] for i in window.items if i["path"] == "timeline/table/events" and " rows" in i["text"])
    whole = count()
    window.click("events/filter")
    window.type("KV ring")
    rows = window.rows("events")
    assert rows and all("kv" in r.lower() for r in rows) and " of " in count(), (rows, count())
    window.press("Ctrl+A", "Delete", "Escape")
    assert count() == whole
    for there in (True, False):
        assert window.has("events/rows/sort P99") == there
        window.click("events/columns")
        window.click("columns menu/P99", "checkbox")
        window.press("Escape")
    assert window.has("events/rows/sort P99")


def typing_is_not_a_command(world):
    """Letters that come faster than frames are text while one types, and commands, each counted, before and after."""
    window = _home(world)
    begin, end = axis(window)
    window.press("Ctrl+F")
    before = window.read()
    window._xdotool("type", "--delay", "4", "aabbccddeeffwwss")
    window.settle(before, 16)
    assert window.item("timeline/main/find")["value"] == "aabbccddeeffwwss" and axis(window) == (begin, end)
    window.press("Ctrl+A", "Delete", "Escape")
    before = window.read()
    window._xdotool("key", "--delay", "4", *["w"] * 6)
    window.settle(before, 6)
    zoomed = (end - begin) / (axis(window)[1] - axis(window)[0])
    assert abs(zoomed / 1.3 ** 6 - 1) < 0.01, zoomed


def table_copies(world):
    """All rows in each form, the selected row, and a cell; line breaks do not survive the field that the test pastes into."""
    window = _home(world)
    window.click("tab/Events by name")
    rows = window.rows("events")

    def copied(what):
        window.click("events/copy")
        window.click("copy menu/" + what)
        return window.clipboard("events/filter")
    text = copied("all TSV")
    assert text.startswith("event") and text.count("attend") >= 5 and all(r in text for r in rows), text[:200]
    assert copied("all CSV").startswith("event,strategy,count,total_ns,")
    text = copied("all Markdown")
    assert text.startswith("| event | strategy |") and "| ---: |" in text, text[:200]
    read = json.loads(copied("all JSON"))
    assert {r["event"] for r in read} >= set(rows) and all(isinstance(r["total_ns"], (int, float)) for r in read)
    window.click("events/rows/row 0 attend", "row")
    read = json.loads(copied("row JSON"))
    assert len(read) == 1 and read[0]["event"] == "attend", read
    window.click("events/rows/row 0 attend", at=(0.02, 0.5), button=3)
    assert window.clipboard("events/filter") == "attend"
