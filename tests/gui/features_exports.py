"""Files that come into the window and go out of it: drops on it, and what Report exports. gui.md 4."""
import os
import shutil
import struct
import subprocess
import zlib

from drop import Drag
from window import Display, Window, pixels_of_screen


def dropped_files(world):
    """Files that are dropped on the window are opened, beside those that are open; what is no store says so."""
    names = ["first run.db", "zweiter Läuf 100%.db"]
    paths = [shutil.copy(world.demo, world.folder / name) for name in names]
    window = world.open()
    before = window.read()
    assert Drag(world.display.name, window.id, paths).drop(300, 300)
    window.settle(before)
    window.wait_for(lambda s: "#overview" in s["link"] and not s["busy"], "the files are open")
    assert [i["text"] for i in window.find("tab")] == names and "10 of 10" in window.item("scope/strategies")["text"]
    window.click("rail/views/timeline")
    broken = world.folder / "dropped.txt"
    broken.write_text("no store\n" * 1000)
    assert Drag(world.display.name, window.id, [broken]).drop(300, 300)
    window.wait_for(lambda s: len(window.find("tab")) == 3 and not s["busy"], "the third file has a tab")
    assert "#timeline" in window.link and any("dropped.txt" in i["text"] and "SPS" in i["text"] for i in window.items if i["kind"] == "text"), window.texts()[:20]
    window.close()


def _choose(window, form, path):
    window.click("export/form", "choice")
    window.click("form/" + form)
    window.click("export/path")
    window.press("Ctrl+A")
    window.type(str(path))


def _export(window, form, path):
    _choose(window, form, path)
    window.click("export/write")
    window.wait_for(lambda s: not s["busy"] and window.says("Wrote "), "it is written")
    return path


def _size(picture):
    """Width and height in the first chunk of a PNG."""
    return struct.unpack(">II", picture.read_bytes()[16:24])


def report_exports_rest(world):
    """CSV as the command line writes it; pictures of 1x and 2x as --screenshot draws them; the selected range as a store
    with the events of that time."""
    range_ns = (2_000_000, 5_000_000)
    place = f"{world.demo}#report?s=usp,ring&layer=1&step=2&t=2ms..5ms&of=usp"
    window = world.open(place)
    told = world.folder / "told-tables"
    subprocess.run([world.spscope, "report", world.demo, "--format", "csv", "-o", told], check=True, capture_output=True)
    tables = _export(window, "CSV (a folder)", world.folder / "exported-csv")
    assert {f.name: f.read_bytes() for f in tables.iterdir()} == {f.name: f.read_bytes() for f in told.iterdir()}
    _pictures(world, window, place.replace("#report", "#timeline"))
    _range(world, window, range_ns)
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


def _pictures(world, window, place):
    window.click("export/form", "choice")
    window.click("form/Picture of a view")
    window.click("export/view", "choice")
    window.click("view/Timeline")
    sizes = []
    for scale in (1, 2):
        window.click(f"export/scale/{scale}x")
        picture = _export(window, "Picture of a view", world.folder / f"exported-{scale}x.png")
        width, height = _size(picture)
        told = world.folder / "told.png"
        subprocess.run([world.program, "--settings", "", "--screenshot", "timeline", "--size", f"{width}x{height}", "--scale", str(scale),
                        "--theme", window.state["theme"], "-o", told, place], check=True, env=world.no_display())
        assert picture.read_bytes() == told.read_bytes(), scale
        sizes.append((width, height))
    assert sizes[0] == world.size and sizes[1] == tuple(2 * n for n in sizes[0]), sizes


def _range(world, window, range_ns):
    exported = _export(window, "Range as a store", world.folder / "exported-range.db")
    (zero,), = world.sql(world.demo, "select begin_ns from repeat join run using (run_id) join strategy using (strategy_id) where strategy.id = 'usp' "
                         "and layer = 1 and denoise_step = 2")
    begin, end = (zero + ns for ns in range_ns)
    wanted = world.sql(world.demo, f"select begin_ns, end_ns, rank, name from event where begin_ns < {end} and end_ns > {begin} order by 1, 2, 3, 4")
    assert wanted and wanted == world.sql(exported, "select begin_ns, end_ns, rank, name from event order by 1, 2, 3, 4")
    before = exported.read_bytes()
    _choose(window, "Range as a store", world.demo)
    window.click("export/write")
    assert window.says("That is the stored run itself.") and exported.read_bytes() == before
    other = world.open(f"{world.demo}#report")
    other.click("export/form", "choice")
    other.click("form/Range as a store")
    assert other.item("export/write")["disabled"] and other.says("No range is selected")
    other.close()


def _pixels_of_png(path):
    """Rows of R, G, B bytes of a PNG of 8 bits a channel."""
    data, place, packed = path.read_bytes(), 8, b""
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        body = data[place + 8:place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            packed += body
        place += 12 + length
    channels = {2: 3, 6: 4}[color]
    assert depth == 8
    raw, line, before, rows = zlib.decompress(packed), channels * width, bytearray(channels * width), []
    for y in range(height):
        method, row = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
        for i in range(line):
            left, up = row[i - channels] if i >= channels else 0, before[i]
            corner = before[i - channels] if i >= channels else 0
            if method == 1:
                row[i] = (row[i] + left) & 255
            elif method == 2:
                row[i] = (row[i] + up) & 255
            elif method == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif method == 4:
                nearest = min((left, up, corner), key=lambda v, p=left + up - corner: abs(p - v))
                row[i] = (row[i] + nearest) & 255
        before = row
        if channels == 4:
            rgb = bytearray(3 * width)
            rgb[0::3], rgb[1::3], rgb[2::3] = row[0::4], row[1::4], row[2::4]
            row = rgb
        rows.append(bytes(row))
    return rows


def link_gives_the_picture(world):
    """A link from the window gives the picture that is on the screen, but for what its OpenGL rounds otherwise."""
    size, folder = (1100, 800), world.folder / "screen"
    folder.mkdir()
    with Display((1200, 900), options=["-fbdir", str(folder)]) as display:
        window = Window(display, f"{world.demo}#timeline?s=ulysses", program=world.program, size=size, folder=world.folder / "pictured")
        window.click("band ulysses/rank 3", "row")
        window.press("Shift+W", "F")
        before = window.read()
        window._xdotool("mousemove", 1150, 850)  # nothing is under the pointer
        window.settle(before)
        link, picture = window.link, world.folder / "linked.png"
        screen = pixels_of_screen(folder / "Xvfb_screen0", *size)
        window.kill()
    subprocess.run([world.program, "--settings", "", "--screenshot", "timeline", "--size", "1100x800", "-o", picture, link], check=True, env=world.no_display())
    other = sum(1 for a, b in zip(screen, _pixels_of_png(picture)) if a != b and
                sum(abs(x - y) > 24 for x, y in zip(a, b)) > 3 * size[0] // 100)
    assert other <= size[1] // 100, f"{other} of {size[1]} rows differ"
