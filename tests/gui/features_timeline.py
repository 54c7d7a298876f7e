"""The timeline of whole files, filters of rows, and what pointing at a rank does: gui.md 2 and 4. Numbers are compared
with brute force over the events that the command line gives."""
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from world import axis

sys.path.append(str(Path(__file__).resolve().parents[1] / "sql"))
import chunk_format  # noqa: E402

LONG = """[model]
preset = "wan2.1-t2v-14b"
[mask]
pattern = "dense"
[cluster]
preset = "h100x8"
[run]
mode = "simulate"
strategies = ["ring", "usp:ulysses=4,ring=2"]
layers = 16
denoise_steps = 12
"""
CATEGORIES = ("other", "attend", "local", "rearrange", "transfer", "barrier", "late peer")
PARTS = {"attend": "compute", "local": "compute", "rearrange": "compute", "late peer": "late peer", "transfer": "wire", "barrier": "wire",
         "other": "other"}


def _long(world):
    """A run of so many layer passes that a bucket of its pyramids is a few pixels wide."""
    return world.run("long.db", LONG)


def _claims(world, path, rank):
    """(begin, end, category) of all that a rank did: of a transfer what it waited is of another category."""
    events = world.sql(path, f"select begin_ns, end_ns, category, entry_ns, transfer_begin_ns from event where rank = {rank}")
    for begin, end, category, entry, transfer in events:
        if entry is None or max(entry, begin) >= min(transfer, end):
            yield begin, end, category
        else:
            yield max(entry, begin), min(transfer, end), "late peer"
            yield begin, max(entry, begin), category
            yield min(transfer, end), end, category


def _strip(claims, shift, first, count):
    """The byte of each bucket: category that leads << 4 | fifteenths that are busy, rounded up."""
    sums = [dict.fromkeys(CATEGORIES, 0) for _ in range(count)]
    for begin, end, category in claims:
        for k in range(max(begin >> shift, first), min((end - 1) >> shift, first + count - 1) + 1):
            sums[k - first][category] += max(0, min(end, (k + 1) << shift) - max(begin, k << shift))
    strip = []
    for bucket in sums:
        busy = sum(bucket.values())
        lead = max(range(len(CATEGORIES)), key=lambda c: (bucket[CATEGORIES[c]], -c))
        strip.append(0 if busy == 0 else lead << 4 | min(15, -(-busy * 15 >> shift)))
    return strip


def _zoom_to_events(window):
    for _ in range(12):
        if window.view["bands"][0]["drawn"] == "events":
            return
        window.press("Shift+W")
    raise AssertionError(f"no events however close: {window.view['bands'][0]['shift']}")


def timeline_of_file(world):
    """Strips are those of brute force over all events; close by, events can be chosen and lead to their layer pass."""
    path = _long(world)
    window = world.open(f"{path}#timeline")
    window.click("time/file")
    window.wait_for(lambda s: s["view"].get("bands") and s["view"]["bands"][0].get("pieces") and not s["busy"], "strips")
    assert "time=file" in window.link
    band = window.view["bands"][0]
    first, last = world.sql(path, "select min(begin_ns), max(end_ns) from event")[0]
    (passes,), = world.sql(path, "select count(*) from repeat where has_timeline = 1")
    assert (band["zero_ns"], band["end_ns"], band["passes"], band["drawn"]) == (first, last, passes, "strips"), band
    assert band["ranks"] == list(range(8)) and band["shift"] >= band["base_shift"]
    compared = 0
    for rank in (0, 5):
        claims = list(_claims(world, path, rank))
        for piece in band["pieces"]:
            wanted = _strip(claims, piece["shift"], piece["first_bucket"], piece["num_buckets"])
            row = next(r for r in piece["rows"] if r["rank"] == rank)
            assert bytes.fromhex(row["bytes"]) == bytes(wanted), (rank, piece["shift"], row["bytes"], bytes(wanted).hex())
            busy = dict.fromkeys(("compute", "late peer", "wire", "other"), 0)
            for byte in wanted:
                busy[PARTS[CATEGORIES[byte >> 4]]] += byte & 15
            assert row["busy"] == busy
            compared += len(wanted)
    assert compared >= 100, compared
    _zoom_to_events(window)
    marks = [i for i in window.items if i["kind"] == "mark" and "/rank 2 op " in i["path"] and i["path"].endswith(" 0")]
    for _ in range(6):
        if marks:
            break
        window.press("Shift+W")  # as pixels they cannot be told apart
        marks = [i for i in window.items if i["kind"] == "mark" and "/rank 2 op " in i["path"] and i["path"].endswith(" 0")]
    widest = max(marks, key=lambda i: i["rect"][2] - i["rect"][0])
    window.click(widest["path"], first=True)
    chosen = window.view["selected"]
    found = world.sql(path, f"select name from event where run_id = {chosen['run']} and rank = {chosen['rank']} and op_id = {chosen['op']} "
                      f"and begin_ns = {chosen['begin_ns']}")
    assert chosen["rank"] == 2 and found == [(chosen["name"],)], (chosen, found)
    (strategy, layer, step), = world.sql(path, "select strategy.id, layer, denoise_step from run join strategy using (strategy_id) "
                                         f"where run_id = {chosen['run']}")
    place = window.link
    window.press("Period")
    assert window.view["selected"]["begin_ns"] > chosen["begin_ns"] and window.view["selected"]["rank"] == 2
    window.press("Comma", "RightBracket")
    assert window.view["selected"]["rank"] == 3 and window.view["selected"]["name"] == chosen["name"]
    window.press("LeftBracket")
    window.click("details/pane/show pass")
    assert "time=file" not in window.link and all(p in window.link for p in (f"of={strategy}", f"layer={layer}", f"step={step}",
                                                                           f"op={chosen['op']}", "rank=2")), window.link
    assert next(b["selected"]["op"] for b in window.view["bands"] if "selected" in b) == chosen["op"]
    window.close()
    # The link holds the mode, the pass and the operation.
    told = world.view_dump("timeline", place)
    assert told["time"] == "file" and told["bands"][0]["zero_ns"] == first


def timeline_of_file_shows_devices(world):
    """The stream of a device and a thread have rows behind the rank that they name, one of no rank the last; an event of
    a row says where it was."""
    copy = world.changed_copy("watched.db")
    store = sqlite3.connect(copy)
    begin, = store.execute("SELECT min(begin_min_ns) FROM chunk").fetchone()
    tracks = ((1, 2, "stream 7", "GPU 2 at 0000:86:00.0", 7), (2, 2, "main", None, 11), (2, None, "loader", None, 0))
    for track_id, (kind, rank, name, device, category) in enumerate(tracks, 9_001):
        store.execute("INSERT INTO track VALUES (?, ?, ?, NULL, ?, ?, NULL, 0, 0)", (track_id, kind, name, device, rank))
        store.execute("INSERT INTO ledger VALUES (?, 50, 50, 0, 0, 0)", (track_id,))
        events = [dict(begin_ns=begin + 400_000 * i, end_ns=begin + 400_000 * i + 200_000, op_id=-1, name_id=0, flags=category,
                       bytes=0, correlation_id=i, work_detail_id=0) for i in range(50)]
        chunk_format.insert_chunk(store, None, track_id, 3, events)
    store.commit()
    store.close()
    path = world.folder / "devices.db"
    subprocess.run([world.spscope, "recover", copy, "-o", path], capture_output=True, check=True)
    window = world.open(f"{path}#timeline?time=file")
    window.wait_for(lambda s: s["view"].get("bands") and s["view"]["bands"][0].get("pieces") and not s["busy"], "strips")
    band = window.view["bands"][0]
    assert band["ranks"] == list(range(8)) and band["tracks"] == ["stream 7, GPU 2 at 0000:86:00.0", "main", "loader"], band
    rows = [(r["rank"], r.get("track")) for r in band["pieces"][0]["rows"]]
    assert rows[2:5] == [(2, None), (2, "stream 7, GPU 2 at 0000:86:00.0"), (2, "main")] and rows[-1] == (-1, "loader"), rows
    busy = {r.get("track"): r["busy"] for r in band["pieces"][0]["rows"]}
    of = lambda track: {part for part, value in busy[track].items() if value > 0}
    assert (of("stream 7, GPU 2 at 0000:86:00.0"), of("main")) == ({"kernel"}, {"call"}), busy
    _zoom_to_events(window)
    assert window.view["bands"][0]["tracks"] == band["tracks"]
    window.close()


def a_program_that_was_observed(world):
    """Without strategies: its events on the timeline, what they add up to in the report, and elsewhere the way there."""
    path = world.observed()
    window = world.open(f"{path}#overview")
    window.wait_for(lambda s: not s["busy"], "the file")
    window.wait_for(lambda s: window.says("first to last event"), "what is known of the program")
    (ran, span), = world.sql(path, "select (select makespan_ns from repeat), (select max(end_ns) - min(begin_ns) from event)")
    said = [i["text"] for i in window.items]
    for name, ns in (("program ran", ran), ("first to last event", span)):
        digits, unit = said[said.index(name) + 1].split()
        assert abs(float(digits) * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit] - ns) < 0.01 * ns, (name, digits, unit, ns)
    window.click("observed/timeline")
    window.wait_for(lambda s: s["view"].get("bands") and s["view"]["bands"][0].get("pieces") and not s["busy"], "strips")
    band = window.view["bands"][0]
    assert window.view["time"] == "file" and band["ranks"] == [] and "rank 0, stream 7, GPU 0 at 0000:3B:00.0" in band["tracks"], band
    rows = [i["text"] for i in window.items if i["kind"] == "row"]
    assert rows[:3] == ["rank 0, GPU 0", "stream 7", "stream 14"], rows
    assert not window.has("time/pass") and not window.says("layer pass") and not window.says("Layer pass"), "there is none"
    assert window.says(f"first to last event {said[said.index('first to last event') + 1]}"), "counters, which go on, are no events"
    assert window.says("program ran") and not window.has("timeline/main/order")
    window.click("timeline/main/find")
    window.type("gemm")
    window.wait_for(lambda s: window.has("events/rows/row 0 gemm") and not s["busy"], "the name")
    assert window.has("tab/By rank") and not window.has("tab/By layer pass")
    window.click("rail/views/report")
    window.wait_for(lambda s: any("python3 train.py" in i.get("text", "") for i in window.items) and not s["busy"], "the report")
    assert any("device" in i.get("text", "") for i in window.items)
    sections = window.view["sections"]
    assert {"work", "kernels", "provenance"} <= set(sections) and not {"summary", "timeline", "balance"} & set(sections), sections
    window.click("sections/kernels", "checkbox")
    assert "kernels" not in window.view["sections"] and window.says("Work") and not window.says("launches")
    window.close()


def lost_events_of_collectors_are_said(world):
    """How many events of a program that was observed are missing, and which collector lost them."""
    window = world.open(f"{world.lost()}#overview")
    window.wait_for(lambda s: window.says("228 dropped, all by cupti") and not s["busy"], "the loss")
    said = [i["text"] for i in window.items]
    assert said[said.index("lost") + 1] == "228", said
    assert window.has("observed/collectors/rows/row 0 python3 4000") and window.says("CUPTI had no buffer for them")
    window.click("observed/timeline")
    window.wait_for(lambda s: window.find("gap", "mark") and not s["busy"], "the mark of the row")
    assert window.says("228 dropped, all by cupti")
    window.close()
    cut_off = world.changed_copy("cut_off.db", "update collector set outcome = 1", "insert into collector values "
                                 "(0, 'python3 4000', 'nccl', 0, 0, 0, 1680, 0, '', 1)", of=world.lost())
    window = world.open(f"{cut_off}#overview")
    window.wait_for(lambda s: window.says("228 dropped; cupti lost at least 228, what nccl lost is not known") and not s["busy"], "what is known")
    said = [i["text"] for i in window.items]
    assert said[said.index("lost") + 1] == "at least 228", said
    window.close()


def collectors_have_rows(world):
    """What CUPTI, NCCL and NVML stored of a program: operations that overlap below each other, counters behind one row that
    unfolds them, and what each was under the pointer."""
    path = world.observed()
    window = world.open(f"{path}#timeline?time=file&t=40ms..42ms")
    window.wait_for(lambda s: s["view"].get("bands") and s["view"]["bands"][0].get("drawn") == "events" and not s["busy"], "events")
    band = window.view["bands"][0]
    assert [(c["rank"], c["label"]) for c in band["counters"]] == [(r, f"GPU {r} counters") for r in range(2)], band["counters"]
    marks = [i for i in window.items if i["kind"] == "mark" and (i["text"] in ("AllReduce RING SIMPLE", "Send", "Recv") or i["text"].endswith(" more"))]
    # Nobody was late: their device had not begun them.
    assert any(i["path"].endswith(" 11") for i in marks) and not any(i["path"].endswith(" 1") for i in marks), marks
    assert window.says("queued") and not window.says("late peer"), "the legend"
    several = [i for i in marks if i["text"].endswith(" more")]
    assert len({round(i["rect"][1]) for i in marks}) == 8, marks  # four rows of each communicator
    assert several and all(i["text"] == "+4 more" for i in several), several  # of 7, three have rows
    reduce = max((i for i in marks if i["text"].startswith("AllReduce")), key=lambda i: i["rect"][2] - i["rect"][0])
    window.click(reduce["path"], first=True)
    facts = [i["text"] for i in window.items if i["path"] == "details/pane"]
    for wanted in ("8.39 MB", "sequence", "queued", "60.0 us"):
        assert wanted in facts, (wanted, facts)
    window.click("counters 0", "row")
    window.wait_for(lambda s: any("at_end" in c for c in s["view"]["bands"][0]["counters"]) and not s["busy"], "samples")
    assert "counters=0" in window.link, window.link
    counters = {c["label"]: c for c in window.view["bands"][0]["counters"]}
    stored = dict(world.sql(path, "select name, value from counter where time_ns = (select max(time_ns) from counter where time_ns <= 42000000 "
                            "and name like 'GPU 0%') and name like 'GPU 0%'"))
    for name, value in stored.items():
        quantity, unit = name.removeprefix("GPU 0 ").removesuffix(")").split(" (")
        assert counters[quantity]["unit"] == unit and abs(counters[quantity]["at_end"] - float(value)) < 1e-9, (name, value, counters[quantity])
    assert len(stored) == 5, stored
    mark = next(i for i in window.items if "/counter " in i["path"] and i["text"] == "power")
    window.hover(mark["path"], "mark")
    window.wait_for(lambda s: any(i["text"].startswith("power ") and i["text"].endswith(" W") for i in window.items), "the value under the pointer")
    window.click("counters 0", "row")
    window.wait_for(lambda s: len(s["view"]["bands"][0]["counters"]) == 2, "counters folded")
    window.close()


def timeline_of_file_finds(world):
    """All events of a name: how many there are in the file, and in a range of time, is what the store counts."""
    path = _long(world)
    (begin, end), = world.sql(path, "select min(begin_ns), max(end_ns) from event")
    middle = begin + (end - begin) // 2
    count = lambda where: world.sql(path, f"select count(*) from event where name = 'attend' and {where}")[0][0]
    window = world.open(f"{path}#timeline?time=file")
    window.click("timeline/main/find")
    window.type("ATTEND")
    window.wait_for(lambda s: window.has("events/rows/row 0 attend") and not s["busy"], "the name")
    window.click("events/rows/row 0 attend", "row")
    said = lambda: [i["text"] for i in window.items if i["path"] == "details/pane"]
    window.wait_for(lambda s: f"attend: {count('1')} of them" in said(), "statistics of all of them")
    window.click("tab/By rank")
    rows = {i["text"] for i in window.items if "/ranks/rows/row " in i["path"] and i["kind"] == "row"}
    assert rows and all(r.startswith("rank ") for r in rows), rows
    window.click("tab/By layer pass")
    assert any("layer" in i["text"] for i in window.items if "/passes/rows/row " in i["path"] and i["kind"] == "row")
    window.close()
    window = world.open(f"{path}#timeline?time=file&name=attend&t=0ns..{middle - begin}ns")
    inside = count(f"begin_ns < {middle} and (end_ns > {begin} or begin_ns = end_ns)")
    window.wait_for(lambda s: f"attend: {inside} of them" in said(), f"statistics of {inside} in the range")
    window.close()


def timeline_passes_of_file(world):
    """Layer passes are marked along the time; a click chooses one, a double click shows it alone."""
    path = world.demo
    window = world.open(f"{path}#timeline?time=file")
    window.wait_for(lambda s: window.find("passes", "area") and not s["busy"], "layer passes")
    marks = [i for i in window.items if i["kind"] == "mark" and "/pass " in i["path"]]
    assert len(marks) == 30, len(marks)
    mark = max(marks, key=lambda i: i["rect"][2] - i["rect"][0])
    run = mark["path"].split("/pass ")[1].split()[0]
    (strategy, layer, step), = world.sql(path, "select strategy.id, layer, denoise_step from run join strategy using (strategy_id) "
                                         f"where run_id = {run}")
    left, top, right, bottom = mark["rect"]
    area = window.item("passes", "area")["rect"]
    window.click("passes", "area", at=(((left + right) / 2 - area[0]) / (area[2] - area[0]), 0.5))
    assert all(p in window.link for p in (f"of={strategy}", f"layer={layer}", f"step={step}", "time=file")), window.link
    window.click("details/pane/show pass")
    assert "time=file" not in window.link and window.view["layer"] == layer and window.view["denoise_step"] == step
    window.press("Alt+Left")
    assert "time=file" in window.link
    window.close()


REPEATS = """[model]
preset = "wan-mini"
[mask]
pattern = "sparge"
density = 0.4
[cluster]
preset = "local"
ranks = 2
[run]
mode = "execute"
strategies = ["ulysses"]
repeats = 4
"""


def timeline_offers_the_nearest_repeat(world):
    """A repeat without a timeline has a button to the nearest that has one."""
    path = world.folder / "repeats-without.db"
    shutil.copy(world.run("repeats.db", REPEATS), path)
    store = sqlite3.connect(path)
    store.execute("update repeat set has_timeline = 0 where repeat < 2")
    store.commit()
    store.close()
    window = world.open(f"{path}#timeline?repeat=0")
    window.wait_for(lambda s: window.has("band ulysses/other repeat"), "the button")
    assert window.item("band ulysses/other repeat")["text"] == "Show repeat 2"
    window.click("band ulysses/other repeat")
    window.wait_for(lambda s: window.find("band ulysses/rank 0", "row") and not s["busy"], "the timeline")
    assert "repeat=2" in window.link and not window.has("band ulysses/other repeat")
    window.close()


def _shown_ranks(window, prefix):
    return sorted(int(i["text"].split()[1]) for i in window.items if i["kind"] == "row" and prefix in i["path"] and i["path"].split("/")[-1].startswith("rank "))


def timeline_filters_rows(world):
    window = world.window("timeline?s=ulysses")
    for mode, prefix in (("pass", "/band ulysses/"), ("file", "/file demo.db/")):
        window.click("time/" + mode)
        window.wait_for(lambda s: _shown_ranks(window, prefix) == list(range(8)) and not s["busy"], "all rows")
        window.click("timeline/main/rows")
        window.type("0-1, 5")
        assert _shown_ranks(window, prefix) == [0, 1, 5], _shown_ranks(window, prefix)
        window.type(",x")
        assert window.says("names no rows") and _shown_ranks(window, prefix) == [0, 1, 5]
        window.press("Ctrl+A")
        window.type("node 0")
        assert _shown_ranks(window, prefix) == list(range(8)) and not window.says("names no rows")
        window.press("Ctrl+A")
        window.type("node 1")
        assert _shown_ranks(window, prefix) == []
        window.press("Ctrl+A", "Delete", "Escape")


def rank_dims_others(world):
    window = world.window("timeline?s=ulysses")
    for mode, prefix in (("pass", "band ulysses/rank 3"), ("file", "file demo.db/rank 3")):
        window.click("time/" + mode)
        window.wait_for(lambda s: window.find(prefix, "row") and not s["busy"], "rows")
        assert not [i for i in window.items if "/dim " in i["path"]]
        window.hover(prefix, kind="row")
        assert window.view["pointed_rank"] == 3
        dims = [i["rect"] for i in window.items if "/dim " in i["path"]]
        row = window.item(prefix, "row")["rect"]
        covered = [d for d in dims if d[1] < row[3] - 1 and d[3] > row[1] + 1]
        assert dims and not covered, (dims, row)
        others = [i["rect"] for i in window.items if i["kind"] == "row" and i["path"].startswith("timeline/main/bands/" + prefix.split("/")[0]) and "/rank " in i["path"] and i["rect"] != row]
        assert others and all(any(d[1] <= o[1] + 1 and d[3] >= o[3] - 1 for d in dims) for o in others)


def timeline_goes_to_a_time(world):
    """What is no time, or lies outside, is said beside the field."""
    window = world.window("timeline")
    before = axis(window)
    window.press("Ctrl+G")
    window.type("12 parsecs")
    window.press("Enter")
    assert window.says("is no time") and axis(window) == before
    window.press("Ctrl+G", "Ctrl+A")
    window.type("99s")
    window.press("Enter")
    assert window.says("is outside") and axis(window) == before
    window.press("Ctrl+G", "Ctrl+A")
    window.type("2.5ms")
    window.press("Enter")
    begin, end = axis(window)
    assert abs((begin + end) / 2 - 2.5e6) < 2 and not window.says("is outside"), (begin, end)


def _ns(text):
    """A time of the window in nanoseconds: "1.25ms"."""
    for unit, ns in (("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)):
        if text.endswith(unit) and text[-len(unit) - 1].isdigit():
            return round(float(text[:-len(unit)]) * ns)
    raise AssertionError(text)


def timeline_brush(world):
    """A drag over bins of the histogram selects the events of these durations: as many as the bins say, those that the
    file has; they are lit and listed, sort, and lead on."""
    window = world.open(f"{world.demo}#timeline?s=ulysses&of=ulysses&name=attend")
    durations = dict(world.sql(world.demo, "select op_id, end_ns - begin_ns from event join run using (run_id) join strategy using (strategy_id) "
                               f"where strategy.id = 'ulysses' and layer = {window.view['layer']} and denoise_step = "
                               f"{window.view['denoise_step']} and event.name = 'attend'"))
    bins = sorted((i for i in window.items if "/bin " in i["path"]), key=lambda i: i["rect"][0])
    told = [(int(b["text"].split()[0]), _ns(b["text"].split()[-1])) for b in bins]
    assert sum(count for count, _ in told) == len(durations) and len(bins) > 2, told
    area = window.item("details/pane/histogram")["rect"]
    first, last = 1, len(bins) - 1
    middle = lambda n: (area[0] + (n + 0.5) * (area[2] - area[0]) / len(bins), (area[1] + area[3]) / 2)
    window.drag(middle(last), middle(first))
    brush = window.view["brush"]
    wanted = {op for op, ns in durations.items() if ns >= told[first][1]}
    assert brush["begin_ns"] == told[first][1] and set(brush["ops"]) == wanted, (brush, told, durations)
    assert len(wanted) == sum(count for count, _ in told[first:]) < len(durations)
    assert [durations[op] for op in brush["ops"]] == sorted((durations[op] for op in wanted), reverse=True)
    assert {int(i["path"].split(" op ")[-1].split("op ")[-1]) for i in window.items if "/lit/" in i["path"]} == wanted
    rows = lambda: [i["text"] for i in window.items if "/durations/rows/row " in i["path"] and i["kind"] == "row"]
    assert window.item("tab/Selected durations")["selected"] and rows()
    row = next(i for i in window.items if "/durations/rows/row 0" in i["path"] and i["kind"] == "row")
    window.click(row["path"])
    assert f"op={brush['ops'][0]}" in window.link, (window.link, brush)
    window.click("details/pane/slowest")
    slowest = window.view["brush"]["ops"]
    assert slowest and max(durations.values()) == durations[slowest[0]] and len(slowest) <= len(wanted)
    window.click("details/pane/clear")
    assert "brush" not in window.view and not window.has("tab/Selected durations")
    window.close()


def measure_snaps(world):
    """What is measured begins and ends at the edges of the events that are near: the times of the file."""
    window = world.open(f"{world.demo}#timeline?s=ulysses")
    window.press("Home")
    mark = max((i for i in window.items if "/band ulysses/rank 3 op " in i["path"] and i["text"] == "attend"), key=lambda i: i["rect"][2] - i["rect"][0])
    op = int(mark["path"].split(" op ")[1].split()[0])
    (begin, end), = world.sql(
        world.demo, "select event.begin_ns - repeat.begin_ns, event.end_ns - repeat.begin_ns from event join run using (run_id) "
        "join repeat on repeat.run_id = run.run_id join strategy using (strategy_id) where strategy.id = 'ulysses' and "
        f"run.layer = {window.view['layer']} and run.denoise_step = {window.view['denoise_step']} and op_id = {op}")
    left, top, right, bottom = mark["rect"]
    y = (top + bottom) / 2
    window.drag((left + 4, y), (right - 4, y), keys=["ctrl"])
    a, b = window.link.split("t=")[1].split("&")[0].split("..")
    assert (_ns(a), _ns(b)) == (begin, end), (a, b, begin, end)
    window.close()


def timeline_groups(world):
    """The events of a name by rank and by ring step: of each as many as the file has."""
    window = world.open(f"{world.demo}#timeline?s=ring&of=ring&name=attend")
    where = (f"from event join run using (run_id) join strategy using (strategy_id) where strategy.id = 'ring' and run.layer = {window.view['layer']} "
             f"and run.denoise_step = {window.view['denoise_step']} and event.name = 'attend'")
    rows = lambda table: [i["text"] for i in window.items if f"/{table}/rows/row " in i["path"] and i["kind"] == "row"]
    window.click("tab/By rank")
    shown = rows("ranks")  # those that can be seen
    assert shown and shown == [f"rank {r}" for r, in world.sql(world.demo, f"select distinct rank {where} order by 1")][:len(shown)]
    window.click("ranks/copy")
    window.click("copy menu/all JSON")
    told = {r["rank"]: (r["count"], r["total_ns"]) for r in json.loads(window.clipboard("ranks/filter"))}
    assert told == {f"rank {r}": (n, ns) for r, n, ns in world.sql(world.demo, f"select rank, count(*), sum(end_ns - begin_ns) {where} group by rank")}
    window.click("tab/By ring step")
    shown = rows("ring steps")
    assert shown and shown == [f"ring step {n}" for n in range(8)][:len(shown)], shown
    window.click("ring steps/copy")
    window.click("copy menu/all JSON")
    told = json.loads(window.clipboard("ring steps/filter"))
    assert len(told) == 8 and all(r["count"] == 8 for r in told) and sum(r["total_ns"] for r in told) == world.sql(world.demo, f"select sum(end_ns - begin_ns) {where}")[0][0]
    window.close()


def timeline_of_file_groups(world):
    """Of whole files: by layer, denoise step and ring step, with the counts of the store."""
    window = world.open(f"{world.demo}#timeline?time=file&name=attend")
    for tab, column, label in (("By layer", "layer", "layer"), ("By step", "denoise_step", "denoise step")):
        window.click("tab/" + tab)
        window.wait_for(lambda s: window.has("groups/filter") and not s["busy"] and window.says(f"{label} 0"), tab)
        window.click("groups/copy")
        window.click("copy menu/all JSON")
        told = {next(iter(r.values())): r["count"] for r in json.loads(window.clipboard("groups/filter"))}
        wanted = world.sql(world.demo, f"select {column}, count(*) from event join run using (run_id) where event.name = 'attend' group by 1")
        assert told == {f"{label} {key}": count for key, count in wanted}, (told, wanted)
    window.click("tab/By ring step")
    window.wait_for(lambda s: window.has("groups/filter") and not s["busy"] and window.says("ring step 1"), "ring steps")
    window.click("groups/copy")
    window.click("copy menu/all JSON")
    told = json.loads(window.clipboard("groups/filter"))
    assert len(told) == 8 and sum(r["count"] for r in told) == sum(count for _, count in wanted), (told, wanted)
    window.close()
