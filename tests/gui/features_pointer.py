"""Pointer and tables: gui.md 3."""
import csv
import io
import json

from world import axis, select_op


def _area(window):
    left, top, right, bottom = window.item("bands/area")["rect"]
    return left, top, right - left, bottom - top


def _home(world):
    window = world.window("timeline")
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


def shift_wheel_pans(world):
    window = _home(world)
    window.press("Shift+W")
    begin, end = axis(window)
    left, top, width, _ = _area(window)
    window.wheel_at(left + 0.5 * width, top + 60, 5, times=2, keys=["shift"])
    b, e = axis(window)
    assert b > begin and abs((e - b) - (end - begin)) < 2, (begin, end, b, e)


def drag_pans(world):
    window = _home(world)
    window.press("Shift+W")
    begin, end = axis(window)
    left, top, width, _ = _area(window)
    window.drag((left + 0.6 * width, top + 60), (left + 0.4 * width, top + 60))
    b, e = axis(window)
    moved = (b - begin) / (end - begin)
    assert 0.15 < moved < 0.25 and abs((e - b) - (end - begin)) < 2, moved


def ctrl_drag_selects_range(world):
    window = _home(world)
    begin, end = axis(window)
    left, top, width, _ = _area(window)
    window.drag((left + 0.2 * width, top + 60), (left + 0.6 * width, top + 60), keys=["ctrl"])
    assert axis(window) == (begin, end)
    assert "t=" in window.link, window.link
    whole = [i["text"] for i in window.items if i["path"] == "timeline/table" and i["text"].startswith("in ")]
    assert whole, "the table says the range"
    window.click("table/whole")
    assert "t=" not in window.link


def click_selects_an_event(world):
    window = world.window("timeline?s=ulysses")
    op = select_op(window, rank=2)
    selected = next(b["selected"] for b in window.view["bands"] if "selected" in b)
    assert selected["op"] == op and selected["name"] == "attend"
    details = [i["text"] for i in window.items if i["path"] == "details/pane"]
    assert "attend" in details and any("rank 2" in t for t in details), details


def right_click_copies_a_cell(world):
    window = _home(world)
    window.click("tab/Events by name")
    window.right_click("events/rows/row 0 attend", at=(0.02, 0.5))
    assert window.clipboard("events/filter") == "attend"


def table_sorts(world):
    window = _home(world)
    window.click("tab/Events by name")
    names = lambda: [i["text"] for i in window.items if "/events/rows/row " in i["path"] and i["kind"] == "row"]
    given = names()
    window.click("events/rows/sort event")
    up = names()
    window.click("events/rows/sort event")
    down = names()
    window.click("events/rows/sort event")
    assert up == sorted(up) and down == sorted(down, reverse=True) and up != down and names() == given, (given, up, down)


def table_filters(world):
    window = _home(world)
    window.click("tab/Events by name")
    count = lambda: next(i["text"] for i in window.items if i["path"] == "timeline/table/events" and " rows" in i["text"])
    whole = count()
    window.click("events/filter")
    window.type("KV ring")
    rows = [i["text"] for i in window.items if "/events/rows/row " in i["path"] and i["kind"] == "row"]
    assert rows and all("kv" in r.lower() for r in rows) and " of " in count(), (rows, count())
    window.press("Ctrl+A", "Delete", "Escape")
    assert count() == whole


def table_hides_columns(world):
    window = _home(world)
    window.click("tab/Events by name")
    assert window.has("events/rows/sort P99")
    window.click("events/columns")
    window.click("columns menu/P99", "checkbox")
    window.press("Escape")
    assert not window.has("events/rows/sort P99")
    window.click("events/columns")
    window.click("columns menu/P99", "checkbox")
    window.press("Escape")
    assert window.has("events/rows/sort P99")


def _copied(world, form):
    """All rows in a form; line breaks do not survive the field that the test pastes into."""
    window = _home(world)
    window.click("tab/Events by name")
    window.click("events/copy")
    window.click("copy menu/all " + form)
    return window.clipboard("events/filter"), [i["text"] for i in window.items if "/events/rows/row " in i["path"] and i["kind"] == "row"]


def table_copies_tsv(world):
    text, rows = _copied(world, "TSV")
    assert text.startswith("event") and text.count("attend") >= 5 and all(r in text for r in rows), text[:200]


def table_copies_csv(world):
    text, _ = _copied(world, "CSV")
    fields = next(csv.reader(io.StringIO(text)))
    assert fields[:3] == ["event", "strategy", "count"] and fields[3] == "total_ns", fields[:6]


def table_copies_markdown(world):
    text, _ = _copied(world, "Markdown")
    assert text.startswith("| event | strategy |") and "| ---: |" in text, text[:200]


def table_copies_json(world):
    text, rows = _copied(world, "JSON")
    read = json.loads(text)
    assert {r["event"] for r in read} >= set(rows) and all(isinstance(r["total_ns"], (int, float)) for r in read)


def table_copies_a_row(world):
    window = _home(world)
    window.click("tab/Events by name")
    window.click("events/rows/row 0 attend", "row")
    window.click("events/copy")
    window.click("copy menu/row JSON")
    read = json.loads(window.clipboard("events/filter"))
    assert len(read) == 1 and read[0]["event"] == "attend", read


def typing_is_not_a_command(world):
    window = _home(world)
    before = axis(window)
    window.press("Ctrl+F")
    window.type("wwssaa")
    assert window.item("timeline/main/find")["value"] == "wwssaa" and axis(window) == before
    window.press("Ctrl+A", "Delete", "Escape")


def fast_input_is_kept(world):
    """Letters that come faster than frames, each counted."""
    window = _home(world)
    window.press("Ctrl+F")
    before = window.read()
    window._xdotool("type", "--delay", "4", "aabbccddeeff")
    window.settle(before, 12)
    assert window.item("timeline/main/find")["value"] == "aabbccddeeff"
    window.press("Ctrl+A", "Delete", "Escape")
    begin, end = axis(window)
    before = window.read()
    window._xdotool("key", "--delay", "4", *["w"] * 6)
    window.settle(before, 6)
    zoomed = (end - begin) / (axis(window)[1] - axis(window)[0])
    assert abs(zoomed / 1.3 ** 6 - 1) < 0.01, zoomed
    window.press("Home")
