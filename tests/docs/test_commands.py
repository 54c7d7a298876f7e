"""The commands of a page do what the page says. Usage: test_commands.py PROGRAM SOURCE_DIR PAGE

Blocks of the kind `sh` run one after the other in one folder that is as a checkout after its build: empty but for the
samples and build/bin and build/lib; each in a shell of its own that ends at the first failure. The step that puts
build/bin on the PATH is taken from the page, and holds for all its blocks. `sh mpi` is left out where there is no MPI.
A block of the kind `output` behind one is all that it prints, with ... for what differs from run to run.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```sh(?P<needs>[a-z ]*)\n(?P<commands>.*?)^```$(?:\n+^```output\n(?P<output>.*?)^```$)?",
                   re.MULTILINE | re.DOTALL)


STEP = re.compile(r"^export PATH=\S+", re.MULTILINE)


def environment(folder):
    left = ("SLURM_TMPDIR", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe")
    kept = {key: value for key, value in os.environ.items() if key not in left}
    return {**kept, "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}


def pattern_of(output):
    return re.compile(".*?".join(map(re.escape, output.strip().split("..."))), re.DOTALL)


def has_mpi(program):
    said = subprocess.run([program, "doctor"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return shutil.which("mpirun") is not None and re.search(r"^\s*MPI\s+(?!no\b)", said, re.MULTILINE) is not None


def main(program, source, page):
    text = (source / page).read_text("utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks, f"{page} has no commands"
    step = STEP.search(text)
    assert step, f"{page} does not say how spscope becomes a command"
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        here, scratch = Path(name) / "here", Path(name) / "scratch"
        here.mkdir(), scratch.mkdir(), (here / "build").mkdir()
        for folder in ("bin", "lib"):
            (here / "build" / folder).symlink_to(program.parent.parent / folder)
        (here / "samples").symlink_to(source / "samples")
        for block in blocks:
            if "mpi" in block["needs"] and not has_mpi(program):
                print(f"left out, there is no MPI:\n{block['commands']}")
                continue
            ran = subprocess.run(["bash", "-euo", "pipefail", "-c", f"{step.group()}\n{block['commands']}"], cwd=here,
                                 text=True, timeout=240, env=environment(scratch), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said = ran.stdout.replace(str(here), "/results").replace(str(scratch), "/scratch").strip()
            if ran.returncode == 0 and (block["output"] is None or pattern_of(block["output"]).fullmatch(said)):
                continue
            wrong += 1
            print(f"exit code {ran.returncode} of\n{block['commands']}which says\n{said}\nand not\n{block['output']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]))
