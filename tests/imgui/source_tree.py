"""Brings the sources of Dear ImGui 1.92.9b, unmodified as PyPI's source package slimgui 0.8.3 has them (MIT), into
FOLDER/source, once for a folder. Exit 1, with the reason, where they cannot be downloaded. Usage: source_tree.py FOLDER
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE, VERSION, IMGUI = "slimgui", "0.8.3", "1.92.9b"
SHA256 = "cff8dccbe3b6ba420348dc79e6cb10c6ecea379a68a463efa43705b657f043eb"  # of the source package, as PyPI states it
INSIDE = f"{PACKAGE}-{VERSION}/src/c/imgui/"


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


if __name__ == "__main__":
    try:
        source_tree(Path(sys.argv[1]))
    except Unavailable as reason:
        sys.exit(f"{PACKAGE} {VERSION}: {reason}")
