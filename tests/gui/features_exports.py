"""Files that come into the window and go out of it: drops on it, and what Report exports. gui.md 4."""
import shutil

from drop import Drag


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
