"""Files that are damaged, locked, growing, removed or replaced while they are open: each gives words in the window, the app goes on,
and no file is changed. What the views say of each kind of damage is looked at without a display (test_dumps.py). gui.md 1."""
import shutil
import sqlite3

from damaged import foreign, grow, half, plan_lost
from world import views


def damaged_files_leave_others_alone(world):
    path = world.folder / "half.db"
    half(world.demo, path)
    window = world.open(path, world.demo)
    assert "SPS" in " ".join(i["text"] for i in window.items if "/failed/error" in i["path"]), window.texts()[:30]
    window.click("rail/views/timeline")
    assert any("cyclic/rank 0" in i["path"] and i["kind"] == "row" for i in window.items), "the demo beside it is shown"
    window.click("top/line/file 0/close")
    assert not window.says("SPS-")
    window.close()
    plan_lost(world.demo, path)
    window = world.open(f"{path}#timeline")
    said = [i["text"] for i in window.items if i["path"].endswith("/failed/error")]
    assert any(t.startswith("SPS-156: Cannot read a plan: its checksum is wrong. ") for t in said), (said, window.texts())
    window.close()


def locked_files_can_be_read_later(world):
    """Another program writes to the file."""
    path = shutil.copy(world.demo, world.folder / "locked.db")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("begin exclusive")
    window = world.open(path, world.demo)
    said = " ".join(i["text"] for i in window.items if "/failed/error" in i["path"])
    opened = window.item("scope/strategies")["text"]
    assert "SPS" in said or opened.endswith("10 strategies"), (said, opened)
    writer.execute("rollback")
    writer.close()
    window.press("F5")
    window.wait_for(lambda s: not s["busy"] and window.item("scope/strategies")["text"].endswith("10 strategies"), "the file is read")
    window.close()


def file_changes_are_told(world):
    """A copy that is still under way, damaged at first and whole when it is read again; then another file takes its place, with a
    selection that the new one does not have; then it is removed."""
    path, other = world.folder / "changing.db", world.folder / "foreign.db"
    changed = lambda: window.wait_for(lambda s: window.says("has changed on disk"), "the file has changed")
    half(world.demo, path)
    window = world.open(f"{path}#timeline?of=cyclic&rank=7&op=100&layer=1&step=2")
    assert any("/failed/error" in i["path"] for i in window.items)
    grow(world.demo, path)
    changed()
    window.click("changed/action")
    window.wait_for(lambda s: not s["busy"] and window.has("band cyclic/rank 7", "row"), "the file is read")
    assert not window.says("has changed on disk") and path.read_bytes() == world.demo.read_bytes()
    path.unlink()
    window.wait_for(lambda s: window.says("was removed"), "the file was removed")
    for view, _, needs_file in views():
        if needs_file:
            window.click("rail/views/" + view)
    window.press("F5")
    window.wait_for(lambda s: not s["busy"], "reading again ends")
    foreign(world.demo, other)
    other.replace(path)
    changed()
    window.click("changed/action")
    window.wait_for(lambda s: not s["busy"] and window.says("SPS"), "the new file cannot be read")
    window.close()


def links_lead_to_what_is_there(world):
    """Names that are shown are taken; what is not there is said, or what is there is shown; the slowest layer pass stands for one that
    nobody has run."""
    window = world.open(f"{world.demo}#timeline?s=ring%20r8,ulysses&of=ring%20r8&rank=3")
    assert "s=ring,ulysses" in window.link and "of=ring&" in window.link, window.link
    window.close()
    window = world.open(f"{world.demo}#timeline?s=nobody&of=nobody&rank=99&op=99999&t=5s..9s&name=nothing")
    assert window.says('demo.db has no strategy "nobody", but ulysses, ring') and len(window.view["bands"]) == 5, window.texts()
    window.press("F", "Period")
    window.close()
    # A strategy that is selected and not among the bands: the details tell of what is shown.
    window = world.open(f"{world.demo}#timeline?s=ulysses,usp&of=ring&rank=2")
    assert "being read" not in window.details and "on the critical path of" in window.details, window.details
    window.close()
    place = lambda link: tuple(world.view_dump("timeline", f"{world.demo}#timeline?{link}")[key] for key in ("layer", "denoise_step"))
    assert place("layer=38&step=41") == place("") and place("layer=1&step=41")[0] == 1
