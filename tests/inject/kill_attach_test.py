"""Kills the program, attach, or both at random moments and judges what is left.

Afterwards the file that attach makes, when it lives, or else that of `spscope recover` holds
  * every event that attach had told as committed (--acknowledge);
  * when only the program was killed, every event that it had published before: it counts them in a file of its own;
  * for each track the first events without a gap: their correlations count from 1;
  * ledgers that balance, and right checksums, as `spscope doctor` says.
Nothing is left in /dev/shm or in the folder for temporary files but the folder of a collection that attach could not
merge, and a program whose attach was killed comes to its own end.

Meanwhile processes of other users ask the socket of attach, where this one may start some.

Usage: kill_attach_test.py SPSCOPE PROGRAM LIBRARY [--moments N] [--seed S] [--strangers N]
"""
import argparse
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

from attached import Attached

EVENTS = "SELECT track.name, correlation_id FROM event JOIN track USING (track_id) ORDER BY track.name, begin_ns"
LEDGERS = "SELECT track_id, sent, stored, dropped, unreadable, lost FROM ledger"
ENDS_BY_ITSELF = 23  # exit code of a program that was not killed

parser = argparse.ArgumentParser()
for name in ("spscope", "program", "library"):
    parser.add_argument(name, type=lambda path: Path(path).resolve())
parser.add_argument("--moments", type=int, default=12)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--strangers", type=int, default=1)
OPTIONS = parser.parse_args()
Attached.SPSCOPE, Attached.LIBRARY = OPTIONS.spscope, OPTIONS.library


def folders_in_memory():
    return set(Path("/dev/shm").iterdir())


class KillAttach(Attached):
    def setUp(self):
        super().setUp()
        self.random = random.Random(OPTIONS.seed)
        self.told, self.counts, self.scratch = self.home / "told", self.home / "counts", self.home / "scratch"
        self.environment.update(SPSCOPE_SCRIPT="threads=2 every_us=20", SPSCOPE_SCRIPT_COUNTS=str(self.counts))
        self.in_memory = folders_in_memory()
        self.events = self.acknowledged = self.nothing = 0

    def test_kills_at_random_moments(self):
        for moment in range(OPTIONS.moments):
            victims = ("program", "attach", "both")[moment % 3]
            with self.subTest(moment=moment, victims=victims):
                self.kill(victims, early=moment % 4 == 3)
        print(f"{OPTIONS.moments} kills: {self.events} events, {self.acknowledged} of them acknowledged; {self.nothing} times "
              "nothing was stored yet")
        self.assertLess(self.nothing, OPTIONS.moments / 2, "hardly a kill met a program that collects")

    def start(self):
        for folder in (self.scratch, self.counts):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for path in [*self.home.glob("out.db*"), *self.home.glob("told")]:
            path.unlink()
        return subprocess.Popen(
            self.command("--acknowledge", self.told, OPTIONS.program, "init", "sleep", 900, "exit", ENDS_BY_ITSELF),
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)

    def pid_of_program(self, attach):
        """0 when it has not been started yet."""
        children = Path(f"/proc/{attach.pid}/task/{attach.pid}/children")
        try:
            return int((children.read_text().split() or ["0"])[0])
        except OSError:
            return 0

    def published(self):
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

    # -- judging

    def judge_file(self, all_published):
        said = self.ask("doctor", self.out).stdout
        assert "right in all chunks" in said, said
        correlations, told, published = {}, self.acknowledged_events(), self.published()
        for row in self.rows(EVENTS):
            correlations.setdefault(row["name"], []).append(int(row["correlation_id"]))
        for track, found in correlations.items():
            assert found == list(range(1, len(found) + 1)), f"track {track}: events are missing in between"
        by_track = {track: len(found) for track, found in correlations.items()}
        for track, number in told.items():
            assert by_track.get(track, 0) >= number, f"{by_track} are stored, {told} were acknowledged"
        for thread, number in enumerate(published):
            stored = by_track.get(f"stream {thread}", 0)
            assert not all_published or stored >= number, f"{by_track} are stored, {published} were published"
            # A thread may be killed between its last record and the count of it.
            assert stored <= number + 1, f"{by_track} are stored, {published} were published"
        assert len(by_track) <= len(published), f"{by_track} are stored by {len(published)} threads"
        stored = sum(by_track.values())
        for row in self.rows(LEDGERS):
            sent, *parts = (int(row[key]) for key in ("sent", "stored", "dropped", "unreadable", "lost"))
            assert sent == sum(parts), f"the ledger does not balance: {row}"
        self.events += stored
        self.acknowledged += sum(told.values())

    def judge(self, attach_lives):
        if attach_lives:
            assert not list(self.scratch.iterdir()) and not Path(f"{self.out}.collecting").exists(), "attach left files"
        elif Path(f"{self.out}.collecting").exists():
            recovered = self.ask("recover", self.out, "-o", self.out)
            assert recovered.returncode in (0, 1, 2), recovered.stderr
        for path in self.scratch.iterdir():
            assert path.name.startswith("spscope-out-"), f"left: {path}"
        new = folders_in_memory() - self.in_memory
        assert not [path for path in new if "spscope" in path.name], f"left in memory: {new}"
        if self.out.exists():
            self.judge_file(all_published=attach_lives)
        else:
            assert not self.acknowledged_events(), "no file was made of events that were acknowledged"
            self.nothing += 1

    # -- a moment

    def kill(self, victims, early):
        attach = self.start()
        until = time.monotonic() + 30
        while not self.pid_of_program(attach) or not (early or any(self.counts.iterdir())):
            assert attach.poll() is None and time.monotonic() < until, "the program is not started"
            time.sleep(0.001)
        program = self.pid_of_program(attach)
        variables = Path(f"/proc/{program}/environ").read_bytes().split(b"\0")
        for name in [v.split(b"=")[1] for v in variables if v.startswith(b"SPSCOPE_ATTACH=")]:
            for _ in range(OPTIONS.strangers if os.geteuid() == 0 else 0):
                self.start_stranger(name.decode())
        time.sleep(self.random.uniform(0, 0.05 if early else 0.5))
        pids = {"program": [program], "attach": [attach.pid], "both": [attach.pid, program]}[victims]
        self.random.shuffle(pids)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        attach.wait(timeout=60)
        if victims == "program":
            assert attach.returncode == -signal.SIGKILL, f"attach ended with {attach.returncode}"
        until = time.monotonic() + 30  # a program whose attach is gone comes to its end
        while Path(f"/proc/{program}").exists() and self.state_of(program) != "Z":
            assert time.monotonic() < until, "the program does not end"
            time.sleep(0.005)
        self.judge(attach_lives=victims == "program")

    def state_of(self, pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return "Z"


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
