"""The timeline of whole files, filters of rows, and what pointing at a rank does: gui.md 2 and 4. Numbers are compared with the
events that the command line gives."""
import json

from world import axis


def timeline_of_file(world):
    """Strips of all ranks; close by, events can be chosen and lead to their layer pass."""
    # So many layer passes that a bucket of their pyramids is a few pixels wide.
    path = world.run("long.db", "mask.pattern=dense", 'run.strategies=["ring"]', "run.layers=16", "run.denoise_steps=24")
    window = world.open(f"{path}#timeline")
    window.click("time/file")
    window.wait_for(lambda s: s["view"].get("bands") and s["view"]["bands"][0].get("pieces") and not s["busy"], "strips")
    assert "time=file" in window.link
    band = window.view["bands"][0]
    first, last = world.sql(path, "select min(begin_ns), max(end_ns) from event")[0]
    (passes,), = world.sql(path, "select count(*) from repeat where has_timeline = 1")
    assert (band["zero_ns"], band["end_ns"], band["passes"], band["drawn"]) == (first, last, passes, "strips"), band
    assert band["ranks"] == list(range(8)) and band["shift"] >= band["base_shift"]
    marks = []
    for _ in range(18):
        if marks:
            break
        window.press("Shift+W")  # until events are drawn, each for itself
        marks = [i for i in window.items if i["kind"] == "mark" and "/rank 2 op " in i["path"] and i["path"].endswith(" 0")]
    assert window.view["bands"][0]["drawn"] == "events"
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


def a_program_that_was_observed(world):
    """Without strategies: its events on the timeline, what they add up to in the report, and elsewhere the way there."""
    path = world.observed()
    window = world.open(f"{path}#overview")
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
    sections = window.view["sections"]
    assert {"work", "kernels", "provenance"} <= set(sections) and not {"summary", "timeline", "balance"} & set(sections), sections
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
    assert [i["text"] for i in window.find("gap", "mark")] == ["228"]
    row = next(i for i in window.items if i["kind"] == "row" and i["text"] == "stream 7")
    window.hover(row["path"], "row", first=True)
    assert any("228 events of it are not in the file" in t for t in window.tooltip), window.tooltip
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
    """Of what CUPTI, NCCL and NVML stored: operations that overlap lie below each other, a row unfolds its counters, and each says
    what it was. (The rows themselves: file_data_test.cpp.)"""
    path = world.observed()
    window = world.open(f"{path}#timeline?time=file&t=40ms..42ms")
    window.wait_for(lambda s: s["view"].get("bands") and s["view"]["bands"][0].get("drawn") == "events" and not s["busy"], "events")
    marks = [i for i in window.items if i["kind"] == "mark" and (i["text"] in ("AllReduce RING SIMPLE", "Send", "Recv") or i["text"].endswith(" more"))]
    assert window.says("queued") and not window.says("late peer"), "nobody was late: their device had not begun them"
    assert len({round(i["rect"][1]) for i in marks}) == 8, marks  # four rows of each communicator
    assert {i["text"] for i in marks if i["text"].endswith(" more")} == {"+4 more"}, marks  # of 7, three have rows
    reduce = max((i for i in marks if i["text"].startswith("AllReduce")), key=lambda i: i["rect"][2] - i["rect"][0])
    window.click(reduce["path"], first=True)
    facts = [i["text"] for i in window.items if i["path"] == "details/pane"]
    assert {"8.39 MB", "sequence", "queued", "60.0 us"} <= set(facts), facts
    counters = lambda: window.view["bands"][0]["counters"]
    assert [c["label"] for c in counters()] == ["GPU 0 counters", "GPU 1 counters"], counters()
    window.click("counters 0", "row")
    window.wait_for(lambda s: any("at_end" in c for c in counters()) and not s["busy"], "samples")
    assert "counters=0" in window.link, window.link
    mark = next(i for i in window.items if "/counter " in i["path"] and i["text"] == "power")
    window.hover(mark["path"], "mark")
    window.wait_for(lambda s: any(i["text"].startswith("power ") and i["text"].endswith(" W") for i in window.items), "the value under the pointer")
    window.click("counters 0", "row")
    window.wait_for(lambda s: len(counters()) == 2, "counters folded")
    window.close()


def timeline_of_file_finds(world):
    """All events of a name in the file, by layer, denoise step and ring step, and in a range of time: what the store counts."""
    path = world.demo
    count = lambda where="1": world.sql(path, f"select count(*) from event where name = 'attend' and {where}")[0][0]
    window = world.open(f"{path}#timeline?time=file")
    window.click("timeline/main/find")
    window.type("ATTEND")
    window.wait_for(lambda s: window.has("events/rows/row 0 attend") and not s["busy"], "the name")
    window.click("events/rows/row 0 attend", "row")
    window.wait_for(lambda s: f"attend: {count()} of them" in window.details, "statistics of all of them")
    window.click("tab/By layer pass")
    assert any("layer" in row for row in window.rows("passes"))
    for tab, column, label in (("By layer", "layer", "layer"), ("By step", "denoise_step", "denoise step"), ("By ring step", None, "ring step")):
        window.click("tab/" + tab)
        window.wait_for(lambda s: window.has("groups/filter") and not s["busy"] and window.says(f"{label} 1"), tab)
        window.click("groups/copy")
        window.click("copy menu/all JSON")
        told = {next(iter(r.values())): r["count"] for r in json.loads(window.clipboard("groups/filter"))}
        if column is None:
            assert len(told) == 8 and sum(told.values()) == count(), told
        else:
            wanted = world.sql(path, f"select {column}, count(*) from event join run using (run_id) where event.name = 'attend' group by 1")
            assert told == {f"{label} {key}": count for key, count in wanted}, (told, wanted)
    window.close()
    (begin, end), = world.sql(path, "select min(begin_ns), max(end_ns) from event")
    middle = begin + (end - begin) // 2
    window = world.open(f"{path}#timeline?time=file&name=attend&t=0ns..{middle - begin}ns")
    inside = count(f"begin_ns < {middle} and (end_ns > {begin} or begin_ns = end_ns)")
    window.wait_for(lambda s: f"attend: {inside} of them" in window.details, f"statistics of {inside} in the range")
    window.close()


def timeline_passes_of_file(world):
    """Layer passes are marked along the time, and strategies, those passes that follow each other as one; a click chooses a pass,
    and it can be shown alone."""
    path = world.demo
    window = world.open(f"{path}#timeline?time=file")
    window.wait_for(lambda s: window.find("passes", "area") and not s["busy"], "layer passes")
    rows = world.sql(path, "select strategy.id, begin_ns from repeat join run using (run_id) join strategy using (strategy_id) order by begin_ns")
    wanted = [s for n, (s, _) in enumerate(rows) if n == 0 or rows[n - 1][0] != s]
    strategies = [i for i in window.items if "/strategy " in i["path"] and i["kind"] == "mark"]
    assert [i["path"].rsplit(" ", 2)[1] for i in sorted(strategies, key=lambda i: i["rect"][0])] == wanted, wanted
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
    window.close()


def _in_both_times(world):
    """A window on ulysses, with the time of a layer pass and with that of the file, and what is before the names of its rows."""
    window = world.window("timeline?s=ulysses")
    for mode, prefix in (("pass", "band ulysses/"), ("file", "file demo.db/")):
        window.click("time/" + mode)
        window.wait_for(lambda s: window.find(prefix + "rank 3", "row") and not s["busy"], "rows")
        yield window, prefix


def timeline_filters_rows(world):
    for window, prefix in _in_both_times(world):
        shown = lambda: [r for r in range(8) if window.find(f"{prefix}rank {r}", "row")]
        assert shown() == list(range(8))
        for text, ranks, wrong in (("0-1, 5", [0, 1, 5], False), ("0-1, 5,x", [0, 1, 5], True), ("node 0", list(range(8)), False), ("node 1", [], False)):
            window.fill("timeline/main/rows", text)
            assert shown() == ranks and window.says("names no rows") == wrong, (text, shown())
        window.press("Ctrl+A", "Delete", "Escape")


def rank_dims_others(world):
    for window, prefix in _in_both_times(world):
        assert not [i for i in window.items if "/dim " in i["path"]]
        window.hover(prefix + "rank 3", kind="row")
        assert window.view["pointed_rank"] == 3
        dims = [i["rect"] for i in window.items if "/dim " in i["path"]]
        row = window.item(prefix + "rank 3", "row")["rect"]
        assert dims and not [d for d in dims if d[1] < row[3] - 1 and d[3] > row[1] + 1], (dims, row)
        others = [i["rect"] for i in window.items if i["kind"] == "row" and f"bands/{prefix}rank " in i["path"] and i["rect"] != row]
        assert others and all(any(d[1] <= o[1] + 1 and d[3] >= o[3] - 1 for d in dims) for o in others)


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
    middle = lambda n: (area[0] + (n + 0.5) * (area[2] - area[0]) / len(bins), (area[1] + area[3]) / 2)
    window.drag(middle(len(bins) - 1), middle(1))
    brush = window.view["brush"]
    wanted = sorted((op for op, ns in durations.items() if ns >= told[1][1]), key=durations.get, reverse=True)
    assert brush["begin_ns"] == told[1][1] and [durations[op] for op in brush["ops"]] == [durations[op] for op in wanted], (brush, told, durations)
    assert set(brush["ops"]) == set(wanted) and len(wanted) == sum(count for count, _ in told[1:]) < len(durations)
    assert {int(i["path"].split(" op ")[-1].split("op ")[-1]) for i in window.items if "/lit/" in i["path"]} == set(wanted)
    assert window.item("tab/Selected durations")["selected"]
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
    """What is measured by Ctrl and a drag begins and ends at the edges of the events that are near: the times of the file."""
    window = world.open(f"{world.demo}#timeline?s=ulysses")
    before = axis(window)
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
    assert (_ns(a), _ns(b)) == (begin, end) and axis(window) == before, (a, b, begin, end)
    window.press("Ctrl+Shift+T")
    assert any(t.startswith("from ") for t in window.texts()), "the table says the range"
    window.close()
