"""Files that come into the window and go out of it: drops on it, and what Report exports. gui.md 4."""
import json
import os
import shutil
import subprocess

from drop import Drag
from world import no_display, said_by


def dropped_files(world):
    """Files that are dropped on the window are opened, beside those that are open; what is no store says so."""
    names = ["first run.db", "zweiter Läuf 100%.db"]
    paths = [shutil.copy(world.demo, world.folder / name) for name in names]
    window = world.open()
    before = window.read()
    Drag(world.display.name, window.id, paths).drop(300, 300)
    window.settle(before)
    window.wait_for(lambda s: "#overview" in s["link"] and not s["busy"], "the files are open")
    assert [i["text"] for i in window.find("tab")] == names and "10 of 10" in window.item("scope/strategies")["text"]
    window.click("rail/views/timeline")
    broken = world.folder / "dropped.txt"
    broken.write_text("no store\n" * 1000)
    Drag(world.display.name, window.id, [broken]).drop(300, 300)
    window.wait_for(lambda s: len(window.find("tab")) == 3 and not s["busy"], "the third file has a tab")
    assert "#timeline" in window.link and any("dropped.txt" in i["text"] and "SPS" in i["text"] for i in window.items if i["kind"] == "text"), window.texts()[:20]
    window.close()


def report_export_is_the_users(world):
    """A report of the installed demo goes to the folder of the user, not into that of the program; what was written opens
    with the program of the desktop, and its path is copied."""
    opened, programs = world.folder / "opened.txt", world.folder / "programs"
    programs.mkdir()
    (programs / "xdg-open").write_text(f'#!/bin/sh\nprintf %s "$1" >"{opened}.part" && mv "{opened}.part" "{opened}"\n', encoding="utf-8")
    (programs / "xdg-open").chmod(0o755)
    window = world.open("#start", environment={"PATH": f"{programs}:{os.environ['PATH']}"})
    if window.item("start/main/demo")["disabled"]:
        window.close()
        return "this build has no demo.db"
    window.click("start/main/demo")
    window.wait_for(lambda s: "#overview" in s["link"] and not s["busy"], "the overview")
    window.click("rail/views/report")
    page = window.folder / "demo.html"
    assert window.item("export/path")["value"] == str(page), window.item("export/path")
    window.wait_for(lambda s: not s["busy"] and not window.item("export/write")["disabled"], "its pictures")
    window.click("export/write")
    window.wait_for(lambda s: not s["busy"] and window.says(f"Wrote {page}"), "it is written")
    assert page.exists()
    window.click("export/open written")
    window.wait_for(lambda s: opened.exists(), "xdg-open")
    assert opened.read_text() == str(page)
    window.click("export/copy written")
    assert window.clipboard("export/path") == str(page)
    window.close()
    return None


def _export(window, form, path):
    window.choose("export/form", "form/" + form)
    window.fill("export/path", str(path))
    window.click("export/write")
    window.wait_for(lambda s: not s["busy"] and window.says("Wrote "), "it is written")
    return path


def report_exports(world):
    """The whole report as the command line writes it (as a page: report_exports_several); pictures of 1x and 2x as --screenshot draws them; the selected range as a
    store with the events of that time, but not over the stored run itself."""
    range_ns = (2_000_000, 5_000_000)
    place = f"{world.demo}#report?s=usp,ring&layer=1&step=2&t=2ms..5ms&of=usp"
    window = world.open(place)
    for form, option, ending in (("Markdown", "markdown", ".md"), ("CSV (a folder)", "csv", "")):
        told = world.folder / ("told" + ending)
        subprocess.run([world.spscope, "report", world.demo, "--format", option, "-o", told], check=True, capture_output=True)
        exported = _export(window, form, world.folder / ("exported" + ending))
        files = lambda path: [path] if path.is_file() else sorted(path.iterdir())
        assert [f.read_bytes() for f in files(exported)] == [f.read_bytes() for f in files(told)], form
    assert json.loads(_export(window, "JSON", world.folder / "exported.json").read_text()) == world.json_of("report", world.demo, "--json")
    window.choose("export/form", "form/Picture of a view")
    window.choose("export/view", "view/Timeline")
    for scale in (1, 2):
        window.click(f"export/scale/{scale}x")
        picture, told = _export(window, "Picture of a view", world.folder / f"exported-{scale}x.png"), world.folder / "told.png"
        size = "x".join(str(scale * n) for n in world.size)
        subprocess.run([world.program, "--settings", "", "--screenshot", "timeline", "--size", size, "--scale", str(scale), "--theme",
                        window.state["theme"], "-o", told, place.replace("#report", "#timeline")], check=True, env=no_display())
        assert picture.read_bytes() == told.read_bytes(), scale
    exported = _export(window, "Range as a store", world.folder / "exported-range.db")
    (zero,), = world.sql(world.demo, "select begin_ns from repeat join run using (run_id) join strategy using (strategy_id) where strategy.id = 'usp' "
                         "and layer = 1 and denoise_step = 2")
    begin, end = (zero + ns for ns in range_ns)
    wanted = world.sql(world.demo, f"select begin_ns, end_ns, rank, name from event where begin_ns < {end} and end_ns > {begin} order by 1, 2, 3, 4")
    assert wanted and wanted == world.sql(exported, "select begin_ns, end_ns, rank, name from event order by 1, 2, 3, 4")
    window.fill("export/path", str(world.demo))
    window.click("export/write")
    assert window.says("That is the stored run itself.")
    window.close()
    window = world.window("report")
    window.choose("export/form", "form/Range as a store")
    assert window.item("export/write")["disabled"] and window.says("No range is selected")


def a_link_gives_the_same_without_a_display(world):
    """The items and the numbers of a link from the window are those of --ui-dump and --view-dump."""
    window = world.open(f"{world.demo}#timeline?s=ulysses", size=(1100, 800))
    window.click("band ulysses/rank 3", "row")
    window.press("Shift+W", "F")
    window.hover_at(1, 1)  # nothing is under the pointer
    items = lambda items: sorted((i["path"], i["kind"], i["text"], [round(x) for x in i["rect"]]) for i in items)
    assert items(said_by(world.program, "--ui-dump", "-", "--size", "1100x800", window.link)) == items(window.items)
    assert world.view_dump("timeline", window.link) == window.view
    window.close()


def report_exports_several(world):
    """Of two files the page has the timelines and heads of both, as `spscope report` writes it; a section that is off is
    in neither the view nor the page."""
    one, slow = world.one_pass(), world.one_pass("slow-pass.db", "run.implementation=official")
    told = world.folder / "told-two.html"
    subprocess.run([world.spscope, "report", one, slow, "-o", told], check=True, capture_output=True)
    window = world.open(f"{one},{slow}#report")
    path = _export(window, "HTML", world.folder / "exported-two.html")
    whole = path.read_text(encoding="utf-8")
    assert whole == told.read_text(encoding="utf-8") and whole.count('class="timeline"') >= 2, len(whole)
    window.click("sections/timeline", "checkbox")
    window.click("export/write")
    window.wait_for(lambda s: not s["busy"] and path.read_text(encoding="utf-8") != whole, "it is written again")
    without = path.read_text(encoding="utf-8")
    assert 'class="timeline"' not in without and 'class="heads' in without, len(without)
    window.close()
