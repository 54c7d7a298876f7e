"""Every view of a good file, of damaged copies and of files that are no stores, without a display. The program
ends well, says what is wrong, and changes no file.
Usage: test_dumps.py FOLDER_OF_PROGRAMS
"""
import hashlib
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from damaged import UNREADABLE
from world import DEMO, said_by, views

SMALL = ("--set", "model.grid=3,12,14", "--set", "model.heads=8", "--set", "mask.block=16")  # few blocks and heads to draw
FLIPPED = 3  # damaged copies, by seed


def flipped(whole, seed):
    """A copy with some bytes changed behind the first page."""
    rng, damaged = random.Random(seed), bytearray(whole)
    for _ in range(40):
        damaged[rng.randrange(4096, len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def main(binaries):
    program, spscope = Path(binaries) / "spscope-gui", Path(binaries) / "spscope"
    with tempfile.TemporaryDirectory(prefix="spscope-dumps-") as name:
        folder = Path(name)
        good, config = folder / "good.db", folder / "run.toml"
        config.write_text(DEMO, encoding="utf-8")
        subprocess.run([spscope, "run", config, *SMALL, "--set", f"run.output={good}"], check=True, capture_output=True)
        whole = good.read_bytes()
        for view, _, needs_file in views():
            assert said_by(program, "--view-dump", view, good) or not needs_file, f"{view} says nothing of {good.name}"
        for what, make in UNREADABLE.items():
            path = folder / f"{what}.db"
            make(good, path)
            words = " ".join(item["text"] for item in said_by(program, "--ui-dump", "-", path) if "/failed/error" in item["path"])
            assert "SPS-" in words and len(words) > 30, f"{what}: {words}"
        for seed in range(FLIPPED):
            path = folder / f"flipped-{seed}.db"
            path.write_bytes(flipped(whole, seed))
            before = hashlib.sha256(path.read_bytes()).digest()
            for view, _, _ in views():
                said_by(program, "--ui-dump", "-", f"{path}#{view}")
            assert hashlib.sha256(path.read_bytes()).digest() == before, f"{path.name} was changed"
        assert good.read_bytes() == whole
    print(f"{len(views())} views of {1 + FLIPPED} files, {len(UNREADABLE)} files that are no stores")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
