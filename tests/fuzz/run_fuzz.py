"""Searches with one libFuzzer target from its own sound inputs, and says what it found.

Usage: run_fuzz.py PROGRAM --seconds N [--corpus DIR] [--findings DIR]

Without --corpus the inputs that the search finds are forgotten. A finding is copied to --findings (default: the current
folder); PROGRAM FILE repeats it. Exit 0 when nothing was found. No input may take more than 20 seconds, more memory than
1 GiB, or ask for 256 MiB at once: every reader checks sizes before it allocates.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIMITS = ["-timeout=20", "-rss_limit_mb=1024", "-malloc_limit_mb=256", "-max_len=262144"]
# Half the time of a search in databases is the allocator's: what was freed is kept for some inputs, not for hundreds.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=0:quarantine_size_mb=16:malloc_context_size=12",
              "UBSAN_OPTIONS": "print_stacktrace=1"}


def fast_folder():
    """Where files of a few kilobytes are made thousands of times a second: memory, when there is some."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def search(arguments, folder):
    corpus = arguments.corpus or folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    (folder / "files").mkdir()
    environment = {**os.environ, **SANITIZERS, "TMPDIR": str(folder / "files")}
    seeds = [arguments.program, f"--seeds={folder / 'seeds'}", "-runs=0"]
    subprocess.run(seeds, env=environment, check=True, capture_output=True)
    arguments.findings.mkdir(parents=True, exist_ok=True)
    prefix = f"-artifact_prefix={arguments.findings}/{Path(arguments.program).name}-"
    command = [arguments.program, corpus, folder / "seeds", f"-max_total_time={arguments.seconds}",
               "-print_final_stats=1", prefix, *LIMITS]
    return subprocess.run(command, env=environment, check=False, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--findings", type=Path, default=Path.cwd())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spscope-fuzz-", dir=fast_folder()) as folder:
        done = search(arguments, Path(folder))
    lines = done.stdout.splitlines()
    if done.returncode != 0:
        print("\n".join(lines[-120:]))
        return 1
    print("\n".join(line for line in lines if line.startswith(("stat::", "Done"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
