"""The desktop app with Dear ImGui 1.92.9b (source_tree.py): its unit tests pass, its frames hold the items of those with the
system's Dear ImGui, it makes pictures of them, and a real window obeys keys and pointer.
Usage: test_newer_imgui.py BUILD_FOLDER
"""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/gui"))
from window import SKIPPED, missing  # noqa: E402
from world import World, no_display, said_by, views  # noqa: E402

# Where its interface to input, fonts and the clipboard differs between versions.
WINDOW_TESTS = "link_copied,drag_and,wheel_zooms_at_pointer,keys_of_the_app,typing_is_not,scale_rebakes,keyboard_reaches_controls"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{Path(str(command[0])).name} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-6000:]}"
    return done.stdout


def same_frames(world, old_program, new_program):
    """Items of the frame of every view of a file: what they are and say, not where fonts put them; and its picture."""
    for view, *_ in views():
        place = f"{world.demo}#{view}"
        items = [{(item["path"], item["kind"]) for item in said_by(program, "--ui-dump", "-", "--size", "1600x900", place)}
                 for program in (old_program, new_program)]
        assert items[0] == items[1], f"items of {view} differ: {sorted(items[0] ^ items[1])[:10]}"
        picture = world.folder / f"{view}.png"
        run(new_program, "--settings", "", "--screenshot", view, "--size", "1600x900", "-o", picture, place, env=no_display())
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000, f"the picture of {view} is empty"


def main(build):
    build = Path(build).resolve()
    folder = build / "newer-imgui"
    for name, target in (("bin/spscope", build / "bin/spscope"), ("share", build / "share")):
        if not os.path.lexists(folder / name):
            os.symlink(target, folder / name)
    run(folder / "bin/newer_gui_test")
    if why := missing():
        print(f"skipped: {why}")
        return SKIPPED
    with World(folder / "bin") as world:
        same_frames(world, build / "bin/spscope-gui", folder / "bin/spscope-gui")
    print(run(sys.executable, "-B", ROOT / "tests/gui/test_features.py", folder / "bin", "--only", WINDOW_TESTS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
