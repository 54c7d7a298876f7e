"""The desktop app with Dear ImGui 1.92.9b, unmodified as PyPI's source package slimgui 0.8.3 brings it (MIT): its sources
compile, its unit tests pass, its numbers are those of the app with the system's Dear ImGui, its pictures hold the same
items, and a real window obeys keys and pointer. The tree is downloaded once for a build folder. Skipped, with the reason,
where it cannot be downloaded. Usage: test_newer_imgui.py BUILD_FOLDER
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/gui"))
from window import SKIPPED, missing  # noqa: E402
from world import World, views  # noqa: E402

PACKAGE, VERSION, IMGUI = "slimgui", "0.8.3", "1.92.9b"
SHA256 = "cff8dccbe3b6ba420348dc79e6cb10c6ecea379a68a463efa43705b657f043eb"  # of the source package, as PyPI states it
INSIDE = f"{PACKAGE}-{VERSION}/src/c/imgui/"
# Where its interface to input, fonts and the clipboard differs between versions.
WINDOW_TESTS = "link_copied,drag_pans,wheel_zooms_at_pointer,kPalette,typing_is_not,fast_input,scale_rebakes,keyboard_reaches"


class Unavailable(Exception):
    """Why there is no source tree."""


def package(folder):
    """The source package, downloaded when it is not there."""
    path = folder / f"{PACKAGE}-{VERSION}.tar.gz"
    if not path.exists():
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", PACKAGE, "--require-hashes", "--retries", "1",
                   "--timeout", "20", "--disable-pip-version-check", "-r", wanted, "-d", folder]
        done = subprocess.run(command, capture_output=True, text=True)
        if not path.exists():
            raise Unavailable("pip cannot download it: " + (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256, f"{path} is another file than PyPI has"
    return path


def source_tree(folder):
    """Dear ImGui's own files, unpacked into FOLDER/source."""
    tree = folder / "source"
    if not (tree / "imgui.h").exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch, tarfile.open(package(folder)) as archive:
            for member in archive:
                name = member.name.removeprefix(INSIDE)
                if member.isfile() and name != member.name and ".." not in name:
                    path = Path(scratch) / "tree" / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.extractfile(member).read())
            shutil.rmtree(tree, ignore_errors=True)
            os.rename(Path(scratch) / "tree", tree)
    version = re.search(r'#define IMGUI_VERSION\s+"([^"]+)"', (tree / "imgui.h").read_text(encoding="utf-8")).group(1)
    assert version == IMGUI, f"the package has Dear ImGui {version}"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{Path(str(command[0])).name} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-6000:]}"
    return done.stdout


def same_frames(world, old_program, new_program):
    """Numbers of every view of a file, and the items of its frame: what they are and say, not where fonts put them."""
    environment = world.no_display()
    for view, _, of_file in views():
        place = f"{world.demo}#{view}"
        numbers = [json.loads(run(program, "--settings", "", "--view-dump", view, place, env=environment)) for program in (old_program, new_program)]
        assert not of_file or numbers[0] == numbers[1], f"the numbers of {view} differ"
        items = []
        for program in (old_program, new_program):
            frame = json.loads(run(program, "--settings", "", "--ui-dump", "-", "--size", "1600x900", place, env=environment))
            items.append({(item["path"], item["kind"]) for item in frame})
        assert items[0] == items[1], f"items of {view} differ: {sorted(items[0] ^ items[1])[:10]}"
        for theme in ("dark", "light"):
            picture = world.folder / f"{view}-{theme}.png"
            run(new_program, "--settings", "", "--screenshot", view, "--theme", theme, "--size", "1600x900", "-o", picture, place, env=environment)
            assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000, f"the picture of {view} is empty"


def main(build):
    build = Path(build).resolve()
    folder = build / "newer-imgui"
    folder.mkdir(exist_ok=True)
    try:
        source_tree(folder)
    except Unavailable as reason:
        print(f"skipped: {PACKAGE} {VERSION}: {reason}")
        return SKIPPED
    run("cmake", "--build", build, "--parallel", "2", "--target", "spscope-gui", "newer_spscope_gui", "newer_gui_test")
    for name, target in (("bin/spscope", build / "bin/spscope"), ("share", build / "share")):
        if not os.path.lexists(folder / name):
            os.symlink(target, folder / name)
    run(folder / "bin/newer_gui_test")
    print("the unit tests pass")
    if why := missing():
        print(f"skipped: {why}")
        return SKIPPED
    with World(folder / "bin") as world:
        same_frames(world, build / "bin/spscope-gui", folder / "bin/spscope-gui")
    print("numbers and items are the same")
    print(run(sys.executable, "-B", ROOT / "tests/gui/test_features.py", folder / "bin", "--only", WINDOW_TESTS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
