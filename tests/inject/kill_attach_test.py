"""Kills the program, attach, or both at random moments and judges what is left, while processes of other users ask the socket of
attach again and again, and in every second moment the scratch disk fills.

  * Where attach lives, sent = stored + dropped + unreadable + lost, from what the program counts in a file of its own.
  * Every event that attach had told as committed (--acknowledge) is stored: in the file that attach makes, or in that of the
    command of `spscope recover` which its message names, or in that of `spscope recover` where attach was killed.
  * Of each track the first events are stored, without a gap where none was dropped: their correlations count from 1.
  * Ledgers balance, and checksums are right, as `spscope doctor` says.
  * What the program prints, and how it ends, is its own.
  * Nothing is left in /dev/shm, nor in the scratch folder but the folder of a collection that is not in a file.

Usage: kill_attach_test.py SPSCOPE PROGRAM LIBRARY [--moments N] [--seed S] [--strangers N]
"""
import argparse
import contextlib
import ctypes
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

from attached import HAS_MOUNTS, Attached

EVENTS = "SELECT track.name, correlation_id FROM event JOIN track USING (track_id) ORDER BY track.name, begin_ns"
LEDGERS = "SELECT track_id, sent, stored, dropped, unreadable, lost FROM ledger"
ENDS_BY_ITSELF = 23  # exit code of a program that was not killed
ROOM = 24 << 20  # of the scratch disk; where none can be mounted, files get a limit

parser = argparse.ArgumentParser()
for name in ("spscope", "program", "library"):
    parser.add_argument(name, type=lambda path: Path(path).resolve())
parser.add_argument("--moments", type=int, default=12)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--strangers", type=int, default=3)
OPTIONS = parser.parse_args()
Attached.SPSCOPE, Attached.LIBRARY = OPTIONS.spscope, OPTIONS.library


def folders_in_memory():
    return set(Path("/dev/shm").iterdir())


def become_parent_of_orphans():
    """A program whose attach was killed says to this process how it ended."""
    set_child_subreaper = 36
    if ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0) != 0:
        sys.exit("no orphans to be had")


class KillAttach(Attached):
    def setUp(self):
        super().setUp()
        self.random = random.Random(OPTIONS.seed)
        self.told, self.counts, self.scratch = self.home / "told", self.home / "counts", self.home / "scratch"
        self.printed, self.errors = self.home / "printed", self.home / "errors"
        self.counts.mkdir()
        self.environment["SPSCOPE_SCRIPT_COUNTS"] = str(self.counts)
        self.has_mounts = all(map(self.mount, (self.scratch, "/dev/shm")))
        self.in_memory = folders_in_memory()
        self.events = self.acknowledged = self.dropped = self.lost = self.named = self.nothing = 0

    def mount(self, place):
        """A disk of its own, where that can be."""
        words = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", place]
        can = HAS_MOUNTS and subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode == 0
        if can:
            self.addCleanup(subprocess.run, ["umount", place], check=True)
        return can

    def test_kills_at_random_moments(self):
        for moment in range(OPTIONS.moments):
            victims = ("program", "attach", "both")[moment % 3]
            with self.subTest(moment=moment, victims=victims):
                self.kill(victims, early=moment % 4 == 3, fills=moment % 2 == 0)
        print(f"{OPTIONS.moments} kills: {self.events} events, {self.acknowledged} of them acknowledged, {self.dropped} dropped, "
              f"{self.lost} lost; {self.named} files by the command of attach's message; {self.nothing} times nothing was stored yet")
        self.assertLess(self.nothing, OPTIONS.moments / 2, "hardly a kill met a program that collects")

    def start(self):
        for path in [*self.scratch.iterdir(), *self.counts.iterdir(), *self.home.glob("out.db*"), *self.home.glob("told")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        command = self.command("--json", OPTIONS.program, "print", "begun", "init", "signals", "exit", ENDS_BY_ITSELF)
        command[2:2] = ["--acknowledge", self.told]
        # The second overruns the rings.
        self.environment["SPSCOPE_SCRIPT"] = self.random.choice(("threads=2 every_us=20", "threads=4 every_us=0 most=20000"))
        with self.printed.open("wb") as printed, self.errors.open("wb") as errors:
            return subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=printed, stderr=errors,
                                    start_new_session=True)

    def pid_of_program(self, attach):
        """0 when it has not been started yet."""
        children = Path(f"/proc/{attach.pid}/task/{attach.pid}/children")
        try:
            return int((children.read_text().split() or ["0"])[0])
        except OSError:
            return 0

    def fill_disk(self, attach):
        if not self.has_mounts:
            most = resource.prlimit(attach.pid, resource.RLIMIT_FSIZE)[1]
            resource.prlimit(attach.pid, resource.RLIMIT_FSIZE, (1 << 16, most))
            return
        with contextlib.suppress(OSError), open(self.scratch / "fill", "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 20))

    def sent(self):
        """By thread of the one process."""
        files = list(self.counts.iterdir())
        return [n for n, in struct.iter_unpack("<Q", files[0].read_bytes())] if files else []

    def acknowledged_events(self):
        """The last number of each track."""
        last = {}
        for line in self.told.read_text().splitlines(keepends=True) if self.told.exists() else []:
            if line.endswith("\n"):
                _, events, track = line.rstrip("\n").split(" ", 2)
                last[track] = max(int(events), last.get(track, 0))
        return last

    def ask(self, *words):
        return subprocess.run([self.SPSCOPE, *map(str, words)], capture_output=True, text=True, env=self.environment,
                              check=False)

    def recover(self, source):
        """What it says as JSON."""
        done = self.ask("recover", source, "-o", self.out, "--json")
        assert "Sanitizer" not in done.stderr, done.stderr
        return json.loads(done.stdout or '{"lost": 0}')

    # -- judging

    def judge_file(self, lost, all_counted):
        """`lost`: events that are neither in the file nor in its ledger, and those that its ledger calls lost."""
        said = self.ask("doctor", self.out).stdout
        assert "right in all chunks" in said, said
        correlations, told, sent = {}, self.acknowledged_events(), self.sent()
        for row in self.rows(EVENTS):
            correlations.setdefault(row["name"], []).append(int(row["correlation_id"]))
        known, dropped = lost, 0
        for row in self.rows(LEDGERS):
            of_track, *parts = (int(row[key]) for key in ("sent", "stored", "dropped", "unreadable", "lost"))
            assert of_track == sum(parts), f"the ledger does not balance: {row}"
            known += sum(parts[:-1])
            dropped += parts[1]
        by_track = {track: len(found) for track, found in correlations.items()}
        for track, found in correlations.items():
            assert dropped or found == list(range(1, len(found) + 1)), f"track {track}: events are missing in between"
        for track, number in told.items():
            assert by_track.get(track, 0) >= number, f"{by_track} are stored, {told} were acknowledged"
        assert len(by_track) <= len(sent), f"{by_track} are stored by {len(sent)} threads"
        # A thread may be killed between its last event and the count of it.
        least = sum(sent) if all_counted else 0
        assert least <= known <= sum(sent) + len(sent), f"{known} are stored or counted, {sent} were sent"
        self.events += sum(by_track.values())
        self.acknowledged += sum(told.values())
        self.dropped += dropped
        self.lost += lost

    def judge(self, attach_lives, printed):
        lost = 0
        (self.scratch / "fill").unlink(missing_ok=True)
        if attach_lives:
            said = json.loads(printed[-1])
            lost = said["lost"]
            error = said["error"] or {"hint": None}
            if named := re.search(r'spscope recover "(.*)" -o', error["hint"] or ""):
                self.named += 1
                assert not self.out.exists() and self.recover(named[1])["lost"] == lost, said
            else:
                assert not list(self.scratch.iterdir()) and not Path(f"{self.out}.collecting").exists(), said
        elif Path(f"{self.out}.collecting").exists() and not self.out.exists():  # else it was killed once that was whole
            lost = self.recover(self.out)["lost"]
        for path in self.scratch.iterdir():
            assert path.name.startswith("spscope-out-"), f"left: {path}"
        new = folders_in_memory() - self.in_memory
        assert not [path for path in new if "spscope" in path.name], f"left in memory: {new}"
        if self.out.exists():
            return self.judge_file(lost, all_counted=attach_lives)
        assert not self.acknowledged_events(), "no file was made of events that were acknowledged"
        assert not attach_lives or sum(self.sent()) <= lost, f"{self.sent()} were sent, {lost} are lost"
        self.nothing += 1

    # -- a moment

    def kill(self, victims, early, fills):
        attach = self.start()
        until = time.monotonic() + 60
        while not self.pid_of_program(attach) or not (early or any(self.counts.iterdir())):
            assert attach.poll() is None and time.monotonic() < until, "the program is not started"
            time.sleep(0.001)
        program = self.pid_of_program(attach)
        variables = Path(f"/proc/{program}/environ").read_bytes().split(b"\0")
        for name in [v.split(b"=")[1] for v in variables if v.startswith(b"SPSCOPE_ATTACH=")]:
            for _ in range(OPTIONS.strangers):
                self.start_stranger(name.decode())
        waits = [self.random.uniform(0, 0.05 if early else 0.25) for _ in range(2)]
        time.sleep(waits[0])
        if fills:
            self.fill_disk(attach)
        time.sleep(waits[1])
        pids = {"program": [program], "attach": [attach.pid], "both": [attach.pid, program]}[victims]
        self.random.shuffle(pids)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            time.sleep(self.random.uniform(0, 0.1) * (victims == "both"))  # attach may be at its end by then, or merge
        attach.wait(timeout=120)
        assert attach.returncode == -signal.SIGKILL, f"attach ended with {attach.returncode}"
        if victims == "attach":
            assert self.end_of_orphan(program) == ENDS_BY_ITSELF
        elif victims == "both":
            with contextlib.suppress(ChildProcessError):  # where attach lived on long enough to ask for its end itself
                os.waitpid(program, 0)
        printed = self.printed.read_text().splitlines()
        of_program = printed[:-2] if printed[-1:] and printed[-1].startswith("{") else printed
        assert of_program == ["begun", "ready", "signal 10"][:3 if victims == "attach" else len(of_program)], printed
        assert "Sanitizer" not in self.errors.read_text("utf-8", "replace"), self.errors.read_text("utf-8", "replace")
        self.judge(victims == "program", printed)

    def end_of_orphan(self, program):
        """Of one that waits for a signal."""
        until = time.monotonic() + 60
        while "ready" not in self.printed.read_text():
            assert time.monotonic() < until, "the program does not go on"
            time.sleep(0.005)
        os.kill(program, signal.SIGUSR1)
        return os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])


if __name__ == "__main__":
    become_parent_of_orphans()
    if "OWN_MOUNTS" not in os.environ and HAS_MOUNTS:
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, "-B", *sys.argv], {**os.environ, "OWN_MOUNTS": "1"})
    unittest.main(argv=sys.argv[:1])
