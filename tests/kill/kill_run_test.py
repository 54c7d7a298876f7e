"""Kills processes of `spscope run` and `spscope recover` at random moments and judges what is left.

The file that the launcher makes, when it lives, or else `spscope recover`, holds:
  * of each lane the first events of those that the same run has when it is not killed;
  * the right checksums, as `spscope doctor` says; ledgers that balance; what lanes were doing as unfinished events;
  * all but those of the last 100 ms in which the writer could have committed.
No process is left, and what was read by `recover` is as it was.

Usage: kill_run_test.py NOW_LINES SPSCOPE SCENARIO [--moments N] [--seed S]
  mpi-rank      one of three ranks of `run --launcher mpi` is killed
  mpi-launcher  the process that started mpirun is
  mpi-mpirun    mpirun is
  threads       `run` is, whose ranks are threads
  recover       `run` is, and then `recover` of what it left: twice, and it is made a third time
"""
import argparse
import csv
import hashlib
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path

from kill_oracle import LOOK_S, Oracle, Watched, wait_until

RANKS = 3
REPEATS = 40
JOB = ["-s", "ring", *(word for setting in (
    f"cluster.ranks={RANKS}", "model.grid=3,6,7", "model.heads=3", "model.head_dim=8", "mask.block=16", "run.verify=off",
    f"run.repeats={REPEATS}", "run.warmup=0") for word in ("--set", setting))]
EVENTS = ("SELECT rank, lane, run_id, unfinished, op_id FROM event ORDER BY rank, lane, run_id, unfinished, begin_ns, op_id")
LEDGERS = ("SELECT rank, lane, sum(sent) AS sent, sum(stored) AS stored, sum(dropped) AS dropped, sum(unreadable) AS "
           "unreadable, sum(lost) AS lost FROM ledger JOIN track USING (track_id) GROUP BY rank, lane")


class Test:
    def __init__(self, now_lines, program, seed):
        self.now_lines, self.program = now_lines, program
        self.random = random.Random(seed)
        self.home = Path(tempfile.mkdtemp(prefix="spscope-kill-"))
        self.out, self.pages = self.home / "out.db", self.home / "pages"
        self.environment = {**os.environ, "TMPDIR": str(self.home / "scratch"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.environment.pop("SLURM_TMPDIR", None)
        self.run = None
        self.oracle = Oracle()
        self.early = self.whole = 0
        self.learn()

    def spscope(self, *words, code=0):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, check=False,
                              env=self.environment)
        assert code is None or done.returncode == code, f"{words}: exit code {done.returncode}: {done.stderr}"
        return done

    def rows(self, path, query):
        return list(csv.DictReader(io.StringIO(self.spscope("sql", path, query, "--csv").stdout)))

    def learn(self):
        """What the lanes of a run that is not killed do in each of its layers."""
        self.clear()
        self.spscope("run", *JOB, "--set", "run.denoise_steps=2", "-o", self.out)
        self.ops = {}
        for (rank, lane, _), events in self.runs_of(self.out):
            ops = [int(event["op_id"]) for event in events]
            assert self.ops.setdefault((rank, lane), ops) == ops, "two layers of one job differ"
        assert {rank for rank, _ in self.ops} == set(range(RANKS)) and all(self.ops.values())

    def runs_of(self, path):
        events = self.rows(path, EVENTS)
        for place, group in groupby(events, lambda e: (int(e["rank"]), int(e["lane"]), int(e["run_id"]))):
            yield place, list(group)

    # -- a run

    def clear(self):
        for folder in (self.home / "scratch", self.pages):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for path in self.home.glob("out.db*"):
            path.unlink()

    def start(self, launcher):
        self.clear()
        self.watched = {}
        with open(self.home / "said", "w", encoding="utf-8") as said:
            self.run = subprocess.Popen(
                [self.program, "run", *JOB, "--set", "run.denoise_steps=10000", "--progress", "none", "--launcher",
                 launcher, "-o", self.out], env=self.environment, stdin=subprocess.DEVNULL,
                stdout=said, stderr=said)

    def look(self):
        """A page is kept under a second name: the launcher removes the first one."""
        for page in (self.home / "scratch").glob("*/*.now"):
            if page.name not in self.watched:
                try:
                    self.watched[page.name] = Watched(page)
                    os.link(page, self.pages / page.name)
                except (OSError, ValueError):
                    self.watched.pop(page.name, None)
        for process in self.watched.values():
            process.look()
        time.sleep(LOOK_S)

    def watch(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()

    def watch_until_recording(self, processes):
        until = time.monotonic() + 60
        while len(self.watched) < processes or not all(p.writer for p in self.watched.values()):
            assert self.run.poll() is None, f"the run ended by itself: {self.said()}"
            assert time.monotonic() < until, "no rank records"
            self.look()

    def mpirun(self):
        """The process that `run` started; None before it did."""
        children = Path(f"/proc/{self.run.pid}/task/{self.run.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def end(self):
        """Waits until no process of the run is there any more."""
        self.run.wait(timeout=120)
        wait_until(lambda: not self.processes(), "no process of the run is left")

    def processes(self):
        """Those that were started for the file of this test: the ranks are told its name, and so is mpirun."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.out).encode() in command:
                found.append(int(process.name))
        return found

    def said(self):
        return (self.home / "said").read_text(encoding="utf-8", errors="replace")[-2000:]

    # -- what is left

    def lanes_of(self, path):
        """Lanes as the oracle wants them."""
        lanes = {}
        for row in self.rows(path, LEDGERS):
            lane = lanes[int(row.pop("rank")), int(row.pop("lane"))] = {"events": 0, "unbroken": True, "unfinished": []}
            lane["ledger"] = {key: int(value) for key, value in row.items()}
        for (rank, lane, _), events in self.runs_of(path):
            finished = [int(event["op_id"]) for event in events if event["unfinished"] == "0"]
            here, ops = lanes[rank, lane], self.ops[rank, lane]
            # Only of its last run a lane may have less than all events.
            whole = here["events"] % len(ops) == 0
            here["unbroken"] = here["unbroken"] and (not finished or whole) and finished == ops[:len(finished)]
            here["events"] += len(finished)
            here["unfinished"] += [int(event["op_id"]) for event in events if event["unfinished"] == "1"]
        return lanes

    def lines_of(self, page):
        return json.loads(subprocess.run([self.now_lines, page], stdout=subprocess.PIPE, check=True).stdout)

    def judge(self, path):
        said = self.spscope("doctor", path).stdout
        assert "right in all chunks" in said, said
        lanes = self.lanes_of(path)
        for name, process in self.watched.items():
            for now in self.lines_of(self.pages / name):
                self.oracle.judge(process, now, lanes.get((now["rank"], now["lane"])))

    def judge_nothing(self):
        """Nothing was kept: then nothing had been promised."""
        self.early += 1
        for process in self.watched.values():
            for lane in process.samples[-1][1]:
                self.oracle.judge_time(process, lane, 0)

    def judge_kept(self):
        """The launcher lived: it has made the file and cleared away."""
        left = list((self.home / "scratch").glob("spscope-*"))
        assert not left and not Path(f"{self.out}.collecting").exists(), f"left: {left}; {self.said()}"
        if self.out.exists():
            self.judge(self.out)
        else:
            self.judge_nothing()

    def judge_recovered(self):
        if not Path(f"{self.out}.collecting").exists():
            return self.judge_nothing()
        self.look()  # pages of processes that had just begun
        recovered = self.spscope("recover", self.out, "-o", self.out, code=None)
        if recovered.returncode == 2:
            return self.judge_nothing()
        assert recovered.returncode in (0, 1), recovered.stderr  # 1: before anything was measured
        return self.judge(self.out)

    # -- scenarios

    def mpi(self, moments, victims, early):
        """Half of the moments of processes that are there before the ranks are counted from the start of the program."""
        for moment in range(moments):
            self.start("mpi")
            if not early or moment % 2 == 0:
                self.watch_until_recording(RANKS)
            self.watch(self.random.uniform(0, 0.8))
            for process in victims(self):
                process.kill()
            self.end()
            yield

    def mpi_rank(self, moments):
        for _ in self.mpi(moments, lambda self: [self.random.choice(list(self.watched.values()))], early=False):
            self.judge_kept()

    def mpi_launcher(self, moments):
        for _ in self.mpi(moments, lambda self: [self.run], early=True):
            self.judge_recovered()

    def mpi_mpirun(self, moments):
        def mpirun(self):
            wait_until(self.mpirun, "mpirun is started")
            os.kill(self.mpirun(), signal.SIGKILL)
            return []
        for _ in self.mpi(moments, mpirun, early=True):
            self.judge_kept()

    def kill_threads(self, early, most):
        self.start("threads")
        if not early:
            self.watch_until_recording(1)
        self.watch(self.random.uniform(0, most))
        for process in self.watched.values():
            process.kill()
        self.run.kill()
        self.end()

    def threads(self, moments):
        for moment in range(moments):
            self.kill_threads(early=moment % 4 == 0, most=0.8)
            self.judge_recovered()

    def recover(self, moments):
        for moment in range(moments):
            if moment % 10 == 0:
                self.kill_threads(early=False, most=3)
                self.judge_recovered()
                reference, sums = self.content(), self.sums()
                begin = time.monotonic()
                self.spscope("recover", self.out, "-o", self.out, "--force")
                within = time.monotonic() - begin
                assert self.content() == reference, "two recovers made different files"
            self.out.unlink()
            for _ in range(2):
                process = subprocess.Popen([self.program, "recover", self.out, "-o", self.out], env=self.environment,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(self.random.uniform(0, within))
                process.kill()
                process.wait()
                if self.out.exists():
                    assert self.content() == reference, "a killed recover left a file that is not whole"
                    self.whole += 1
                    self.out.unlink()
                assert self.sums() == sums, "a killed recover changed what it read"
            self.spscope("recover", self.out, "-o", self.out)
            assert self.content() == reference, "the recover after killed ones made something else"
            assert self.sums() == sums, "recover changed what it read"
            left = {path.name for path in self.home.glob("out.db*")} - {"out.db", "out.db.collecting"}
            assert not left, f"left beside the file: {left}"

    def content(self):
        """All of the file but when it was made."""
        with sqlite3.connect(f"file:{self.out}?mode=ro", uri=True) as file:
            lines = [line for line in file.iterdump() if "'created_utc'" not in line]
        file.close()
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def sums(self):
        paths = [path for path in (self.home / "scratch").glob("*/*") if not path.name.endswith("-shm")]
        assert paths
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


SCENARIOS = {"mpi-rank": Test.mpi_rank, "mpi-launcher": Test.mpi_launcher,
             "mpi-mpirun": Test.mpi_mpirun, "threads": Test.threads, "recover": Test.recover}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("now_lines")
    parser.add_argument("program")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--moments", type=int, default=3)
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    if arguments.scenario.startswith("mpi") and shutil.which("mpirun") is None:
        print("skipped: mpirun is not there")
        return 77
    test = Test(arguments.now_lines, arguments.program, f"{arguments.scenario} {arguments.seed}")
    try:
        SCENARIOS[arguments.scenario](test, arguments.moments)
    except BaseException:
        print(f"the files are kept in {test.home}")
        for process in test.processes():
            os.kill(process, signal.SIGKILL)
        raise
    shutil.rmtree(test.home)
    print(f"{arguments.scenario}: {arguments.moments} moments, {test.oracle}; {test.early} before anything was recorded; "
          f"{test.whole} killed recovers had ended")


if __name__ == "__main__":
    sys.exit(main())
