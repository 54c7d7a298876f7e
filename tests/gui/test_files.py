"""Files that are damaged, foreign, locked, growing, replaced or removed while they are open: each gives words in the
window, the app goes on, and no file is changed. Usage: test_files.py FOLDER_OF_PROGRAMS
"""
import hashlib
import os
import random
import shutil
import sqlite3
import sys
import traceback

from window import SKIPPED, missing
from world import World, views

# Damaged copies of the demo, by seed: enough to meet each part of a small file a few times.
FLIPPED = 12


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def truncated(world, path):
    whole = world.demo.read_bytes()
    path.write_bytes(whole[:len(whole) * 2 // 3])


def empty(world, path):
    path.write_bytes(b"")


def no_store(world, path):
    path.write_bytes(b"<html>" * 1000)


def foreign(world, path):
    store = sqlite3.connect(path)
    store.execute("create table bird (name text)")
    store.commit()
    store.close()


def newer(world, path):
    """A file of a version of the format that this program does not know."""
    shutil.copy(world.demo, path)
    store = sqlite3.connect(path)
    store.execute("update meta set value = '999' where key in ('min_reader', 'schema_version')")
    store.commit()
    store.close()


def folder(world, path):
    path.mkdir()


def no_right(world, path):
    shutil.copy(world.demo, path)
    path.chmod(0)


def plan_lost(world, path):
    shutil.copy(world.demo, path)
    store = sqlite3.connect(path)
    store.execute("update plan set data = zeroblob(16)")
    store.commit()
    store.close()


def half(world, path):
    """A copy that is still under way."""
    whole = world.demo.read_bytes()
    path.write_bytes(whole[:len(whole) // 2])


def grow(world, path):
    """The rest of that copy."""
    with open(path, "ab") as more:
        more.write(world.demo.read_bytes()[path.stat().st_size:])


# What cannot be shown, and a word that the window says of it.
UNREADABLE = {"truncated": truncated, "empty": empty, "no store": no_store, "foreign": foreign, "newer": newer, "folder": folder,
              "no right": no_right}


def unreadable(world):
    """All in one window, one after the other: each tab says why, the demo beside it goes on."""
    for name, make in UNREADABLE.items():
        if name == "no right" and os.geteuid() == 0:
            continue  # root reads everything
        path = world.folder / f"{name.replace(' ', '-')}.db"
        make(world, path)
        before = digest(path) if path.is_file() else None
        window = world.open(path, world.demo)
        words = " ".join(i["text"] for i in window.items if "/failed/error" in i["path"])
        assert "SPS" in words and len(words) > 30, (name, window.texts()[:30])
        window.click("rail/views/timeline")
        assert window.has("timeline/main/bands/area") and any("cyclic/rank 0" in i["path"] and i["kind"] == "row" for i in window.items), (name, "the demo beside it is shown")
        window.click("top/line/file 0/close")
        assert not window.says("SPS-"), name
        window.close()
        assert before is None or digest(path) == before, name


def locked(world):
    """Another program writes to the file."""
    path = world.folder / "locked.db"
    shutil.copy(world.demo, path)
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


def growing(world):
    """A copy that is still under way: damaged at first, whole when it is read again."""
    path = world.folder / "growing.db"
    half(world, path)
    window = world.open(path)
    assert any("/failed/error" in i["path"] for i in window.items)
    grow(world, path)
    window.wait_for(lambda s: any("has changed on disk" in i["text"] for i in s["items"]), "the file has grown")
    window.click("changed/action")
    window.wait_for(lambda s: not s["busy"] and window.has("scope/strategies"), "the file is read")
    window.close()
    assert digest(path) == digest(world.demo)


def flipped(world):
    """Bits flipped anywhere: every view shows what it can and words for the rest."""
    generator = random.Random(16)
    whole = world.demo.read_bytes()
    for seed in range(FLIPPED):
        damaged = bytearray(whole)
        for _ in range(1 + seed % 4):
            at = generator.randrange(len(damaged))
            damaged[at] ^= 1 << generator.randrange(8)
        path = world.folder / f"flipped-{seed}.db"
        path.write_bytes(damaged)
        before = digest(path)
        window = world.open(path)
        for view, _, needs_file in views():
            if needs_file:
                window.click("rail/views/" + view)
                assert len(window.texts()) > 8, (seed, view)
        window.close()
        assert digest(path) == before, seed
        path.unlink()


def lost_plans(world):
    path = world.folder / "lost-plans.db"
    plan_lost(world, path)
    window = world.open(f"{path}#timeline")
    said = [i["text"] for i in window.items if i["path"].endswith("/failed/error")]
    assert any(t.startswith("SPS-156: Cannot read a plan: its checksum is wrong. ") for t in said), (said, window.texts())
    window.close()


def removed(world):
    """A file that is removed while its views are looked at: what was read stays, what was not says so."""
    path = world.folder / "removed.db"
    shutil.copy(world.demo, path)
    window = world.open(path)
    path.unlink()
    window.wait_for(lambda s: any("was removed" in i["text"] for i in s["items"]), "the file was removed")
    for view, _, needs_file in views():
        if needs_file:
            window.click("rail/views/" + view)
    window.press("F5")
    window.wait_for(lambda s: not s["busy"], "reading again ends")
    window.click("rail/views/start")
    window.close()


def replaced(world):
    """By a file of another shape, with a selection that the new one does not have."""
    path = world.folder / "replaced.db"
    shutil.copy(world.demo, path)
    window = world.open(f"{path}#timeline?of=cyclic&rank=7&op=100&layer=1&step=2")
    other = world.folder / "other.db"
    foreign(world, other)
    other.replace(path)
    window.wait_for(lambda s: any("has changed on disk" in i["text"] for i in s["items"]), "the file was replaced")
    window.click("changed/action")
    window.wait_for(lambda s: not s["busy"] and any("SPS" in i["text"] for i in s["items"]), "the new file cannot be read")
    window.close()


def nonsense_links(world):
    """Links to what is not there open, and say so or show what is there."""
    for place in ("#timeline?of=nobody&rank=99&op=99999", "#timeline?layer=77&step=9", "#overview?s=nobody", "#timeline?t=5s..9s&name=nothing"):
        window = world.open(f"{world.demo}{place}")
        assert len(window.texts()) > 8
        window.press("F")
        window.press("Period")
        window.close()


TESTS = (unreadable, locked, growing, flipped, lost_plans, removed, replaced, nonsense_links)


def main():
    if reason := missing():
        print(f"skipped: {reason}")
        return SKIPPED
    failed = 0
    with World(sys.argv[1]) as world:
        before = digest(world.demo)
        for test in TESTS:
            if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
                continue
            try:
                test(world)
                print(f"{test.__name__}: passed", flush=True)
            except Exception:
                failed += 1
                print(f"{test.__name__}: FAILED\n{traceback.format_exc()}", flush=True)
        if digest(world.demo) != before:
            failed += 1
            print("FAILED: the demo was changed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
