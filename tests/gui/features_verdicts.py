"""Verdicts on strategies and runs, documents of several files, and answers of SQL that lead on: gui.md 4, compared with
what the command line says of the same files."""
import subprocess

from world import DEMO


def compare_says_a_verdict(world):
    """Of each pair: which is faster, or that the error of the model is larger than the difference; and that no measurement
    supports it, as `report` says."""
    report = world.json_of("report", world.demo, "--json")
    verdict, told = report["verdicts"][0], {s["id"]: s for s in report["strategies"]}
    error, kinds = verdict["ratio_error"]["median"], set()
    for a, b in (("cyclic", "dbsp"), ("usp", "ulysses"), ("ring", "cyclic")):
        dump = world.view_dump("compare", f"{world.demo}#compare?s={a},{b}&of={b}")
        fast, slow = sorted((told[a], told[b]), key=lambda s: s["makespan_ns"])
        close = slow["makespan_ns"] < (1 + error) * fast["makespan_ns"]
        kinds.add(close)
        assert {dump["from"], dump["to"]} == {a, b} and verdict["unmeasured"] in dump["unmeasured"], (dump, verdict)
        assert dump["verdict"] == (f"Too close to call (unmeasured): the difference is within the error of the model ({100 * error:.1f} %)."
                                   if close else f"{fast['label']} is faster (unmeasured)."), dump
    assert kinds == {True, False}, kinds
    window = world.window("compare")
    assert window.says(window.view["verdict"]) and window.says(window.view["unmeasured"]), window.view


def compare_two_runs(world):
    """The same strategy of two runs is judged as `spscope compare` does, from either side, layer pass by layer pass; others are
    refused."""
    slow = world.run("slower.db", DEMO + 'implementation = "official"\n')
    label = {s["id"]: s["label"] for s in world.json_of("report", world.demo, "--json")["strategies"]}
    changes = {c["label_after"]: c for c in world.json_of("compare", world.demo, slow, "--json")["changes"]}
    for id in ("ring", "cyclic"):
        assert changes[label[id]]["regression"], changes[label[id]]
        for files in ((world.demo, slow), (slow, world.demo)):
            dump = world.view_dump("compare", f"{files[0]},{files[1]}#compare?s={id},1:{id}&of=1:{id}")
            word = "faster" if dump["from_ns"] > dump["to_ns"] else "slower"
            assert dump["verdict"].startswith(label[id] + " · ") and f" is {word} by " in dump["verdict"], (dump["verdict"], word)
            shown = float(dump["verdict"].split(" by ")[1].split()[0])
            wanted = 100 * abs(dump["to_ns"] - dump["from_ns"]) / dump["from_ns"]
            assert abs(shown - wanted) <= (0.5 if wanted >= 10 else 0.05), (dump["verdict"], wanted)
            told = [{(p["layer"], p["denoise_step"]): p["makespan_ns"] for s in world.json_of("compare", file, "--json")["strategies"]
                     if s["id"] == id for p in s["by_layer"]} for file in ((slow, world.demo) if word == "faster" else (world.demo, slow))]
            assert len(told[0]) == 6 and {(p["layer"], p["denoise_step"]): (p["from_ns"], p["to_ns"]) for p in dump["passes"]} == \
                {place: (told[0][place], told[1][place]) for place in told[0]}, dump["passes"]
    other = world.view_dump("compare", f"{world.demo},{slow}#compare?s=cyclic,1:ring&of=1:ring")
    assert "compares with the same one" in other["not_comparable"], other


def report_exports_several(world):
    """Of two files the page has the timelines and heads of both, as `spscope report` writes it; a section that is off is
    in neither the view nor the page."""
    slow = world.run("slower.db", DEMO + 'implementation = "official"\n')
    told, path = world.folder / "told-two.html", world.folder / "exported-two.html"
    subprocess.run([world.spscope, "report", world.demo, slow, "-o", told], check=True, capture_output=True)
    window = world.open(f"{world.demo},{slow}#report")
    window.fill("export/path", str(path))
    window.click("export/write")
    window.wait_for(lambda s: not s["busy"] and window.says("Wrote "), "it is written")
    whole = path.read_text(encoding="utf-8")
    assert whole == told.read_text(encoding="utf-8") and whole.count('class="timeline"') >= 2, len(whole)
    window.click("sections/timeline", "checkbox")
    window.click("export/write")
    window.wait_for(lambda s: not s["busy"] and path.read_text(encoding="utf-8") != whole, "it is written again")
    without = path.read_text(encoding="utf-8")
    assert 'class="timeline"' not in without and 'class="heads' in without, len(without)
    window.close()


def sql_places_in_range(world):
    """Numbers that are no place lead nowhere; those of a column sort as numbers."""
    window = world.window("sql")
    window.ask("select 1e300 as rank, 0 as layer, 9 as n union all select -7, 0, 10 order by n")
    window.wait_for(lambda s: s["view"].get("rows") == 2, "the answer")
    rows = lambda: [i["text"] for i in sorted((i for i in window.items if "/answer/rows/row " in i["path"] and i["kind"] == "row"), key=lambda i: i["rect"][1])]
    assert len(rows()) == 2
    window.click("answer/rows/sort n", "button")
    assert [float(t) for t in rows()] == [-7, 1e300], rows()
    for number in (0, 1):
        row = next(i for i in window.items if f"/answer/rows/row {number} " in i["path"] and i["kind"] == "row")
        window.double_click(row["path"])
        assert "#timeline" in window.link and "rank=" not in window.link, window.link
        window.press("Alt+Left")
        window.wait_for(lambda s: "#sql" in s["link"] and window.has("answer/rows/sort n"), "back")
