"""Kills processes of a collection at random moments and judges the file that is made of what they leave.

The writers are kill_worker's, with the ring, the writer and the shard of a run. Each acknowledges on a pipe what a
commit made safe. Afterwards:
  * every acknowledged event is in the file, in order and without a gap, and every chunk's checksum fits (it was read);
  * sent = stored + dropped + unreadable + lost for every lane, with `sent` as the now page has it;
  * what is missing is younger than 100 ms, plus what the machine made any process wait (see Stalls); on a machine that is
    busy with other work this alone is only counted;
  * what a killed lane was doing, and only that, is an unfinished event;
  * a merge that is killed leaves no file or a whole one, and the shards as they were.

Usage: kill_test.py WORKER SCENARIO [--moments N] [--seed S]
  one-rank    one of three ranks is killed, the others end
  all-ranks   all are killed at once
  launcher    the process that writes the head shard is killed; the ranks end
  merge       a merge is killed and made again
  checkpoint  a rank that plays its log back after every commit is killed
  recover     ranks are killed; the merge of what they leave is killed twice and made a third time
"""
import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

NEWEST_NS = 100_000_000
RANKS = 3


def raw_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def is_busy():
    """Whether so many other programs want the processors that 100 ms without a turn prove nothing."""
    return os.getloadavg()[0] > 2 * os.cpu_count()


class Stalls(threading.Thread):
    """For how long, of the last quarter of a second, the machine kept a process waiting that sleeps and then writes a
    little to the same disk (and flushes it, as a checkpoint does): what no writer can be blamed for. On an idle machine
    some milliseconds."""

    def __init__(self, folder, flush):
        super().__init__(daemon=True)
        self.flush = flush
        self.file = open(folder / "stalls", "wb", buffering=0)
        self.seen = []
        self.start()

    def run(self):
        while True:
            before = raw_ns()
            time.sleep(0.005)
            self.file.seek(0)
            self.file.write(bytes(16384))
            if self.flush:
                os.fsync(self.file.fileno())
            now = raw_ns()
            self.seen = [(at, late) for at, late in self.seen if at > now - 250_000_000] + [(now, now - before - 5_000_000)]

    def total_ns(self):
        return sum(late for _, late in list(self.seen))


class Process:
    """A worker that runs until its input is closed or it is killed."""

    def __init__(self, stalls, *words):
        self.stalls = stalls
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.ready_ns = raw_ns()
        self.killed_ns = None
        self.acknowledged = {}
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):  # a line that was cut off acknowledges nothing
                rank, lane, events = map(int, line.split())
                self.acknowledged[rank, lane] = events

    def kill(self):
        self.stalled_ns = self.stalls.total_ns()
        self.killed_ns = raw_ns()
        self.process.send_signal(signal.SIGKILL)

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.reader.join()
        self.process.stdout.close()
        assert code == (0 if self.killed_ns is None else -signal.SIGKILL), f"a worker ended with {code}"


class Test:
    def __init__(self, worker, seed, flush):
        self.worker = worker
        self.random = random.Random(seed)
        self.home = Path(tempfile.mkdtemp(prefix="spscope-kill-"))
        self.stalls = Stalls(self.home, flush)
        self.folder = self.home / "collection"
        self.folder.mkdir()
        self.out = self.folder / "out.db"
        self.busy = self.largest_gap_ns = self.unfinished = self.lost = self.events = self.whole = 0

    # -- a collection

    def collect(self, ranks=RANKS, mode=""):
        for path in self.folder.iterdir():
            path.unlink()
        self.head = Process(self.stalls, self.worker, "head", self.folder, ranks)
        self.ranks = [Process(self.stalls, self.worker, "rank", self.folder, rank, mode) for rank in range(ranks)]

    def pause(self, least, most):
        time.sleep(self.random.uniform(least, most))

    def end(self):
        for process in [*self.ranks, self.head]:
            process.end()

    def shards(self):
        return sorted(self.folder.glob("kill.*.db"))

    def sums(self):
        paths = [path for path in sorted(self.folder.glob("kill.*")) if not path.name.endswith("-shm")]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

    # -- merging

    def start_merge(self):
        return subprocess.Popen([self.worker, "merge", self.out, *self.shards()], stderr=subprocess.PIPE, text=True)

    def merge(self):
        process = self.start_merge()
        _, text = process.communicate(timeout=120)
        assert process.returncode == 0, f"the merge failed: {text}"

    def kill_merge(self, within):
        """Kills a merge after a random part of the time that one takes."""
        process = self.start_merge()
        self.pause(0, within)
        process.kill()
        process.communicate()

    def ask(self, *words):
        done = subprocess.run([self.worker, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    # -- the oracle

    def judge(self):
        merged = {(lane["rank"], lane["lane"]): lane for lane in self.ask("check", self.out)}
        for rank, process in enumerate(self.ranks):
            now = self.ask("now", self.folder / f"kill.rank-{rank}.now")
            for line in now:
                self.judge_lane(process, line, merged.get((rank, line["lane"])))
        self.events += sum(lane["events"] for lane in merged.values())

    def judge_lane(self, process, now, lane):
        place = f"rank {now['rank']} lane {now['lane']}"
        acknowledged = process.acknowledged.get((now["rank"], now["lane"]), 0)
        if lane is None:
            assert acknowledged == 0, f"{place}: nothing of {acknowledged} acknowledged events"
            lane = {"events": 0, "unbroken": True, "newest_ns": process.ready_ns, "unfinished": [], "ledger": None}
        assert lane["unbroken"], f"{place}: events are out of order or missing in between"
        assert lane["events"] >= acknowledged, f"{place}: {lane['events']} events, {acknowledged} were acknowledged"
        self.judge_ledger(place, now, lane)
        if process.killed_ns is None:
            assert lane["events"] == acknowledged == now["sent"] - now["dropped"], f"{place} ended well, and lost events"
            assert lane["unfinished"] == [], f"{place} ended well, and shows {lane['unfinished']} as unfinished"
            return
        gap_ns = process.killed_ns - max(lane["newest_ns"], process.ready_ns)
        allowed_ns = NEWEST_NS + process.stalled_ns
        self.busy += gap_ns > allowed_ns and is_busy()
        assert gap_ns <= allowed_ns or is_busy(), (
            f"{place}: the last {gap_ns / 1e6:.0f} ms are missing, {allowed_ns / 1e6:.0f} may be; {lane['events']} events "
            f"in {(process.killed_ns - process.ready_ns) / 1e6:.0f} ms")
        self.largest_gap_ns = max(self.largest_gap_ns, gap_ns)
        inside = [now["op"]] if now["op"] >= lane["events"] else []
        assert lane["unfinished"] == inside, f"{place}: was inside of {inside}, unfinished is {lane['unfinished']}"
        self.unfinished += len(inside)

    def judge_ledger(self, place, now, lane):
        ledger = lane["ledger"]
        if ledger is None:
            assert lane["events"] == 0, f"{place}: no ledger"
            return
        total = ledger["stored"] + ledger["dropped"] + ledger["unreadable"] + ledger["lost"]
        assert ledger["sent"] == total, f"{place}: the ledger does not balance: {ledger}"
        assert ledger["stored"] - lane["events"] in (0, len(lane["unfinished"])), f"{place}: {lane}"
        finished = ledger["sent"] - (ledger["stored"] - lane["events"])
        assert finished == max(now["sent"], lane["events"] + now["dropped"]), f"{place}: {ledger}, the page says {now}"
        self.lost += ledger["lost"]

    # -- scenarios: each yields once a moment

    def one_rank(self, moments):
        for _ in range(moments):
            self.collect()
            self.pause(0, 0.4)
            self.random.choice(self.ranks).kill()
            self.pause(0, 0.05)
            self.end()
            self.merge()
            self.judge()

    def all_ranks(self, moments):
        for _ in range(moments):
            self.collect()
            self.pause(0, 0.4)
            for process in self.ranks:
                process.kill()
            self.end()
            self.merge()
            self.judge()

    def launcher(self, moments):
        for _ in range(moments):
            self.collect()
            self.pause(0, 0.4)
            self.head.kill()
            self.end()
            self.merge()
            self.judge()

    def checkpoint(self, moments):
        for _ in range(moments):
            self.collect(ranks=1, mode="checkpoint")
            self.pause(0, 0.4)
            self.ranks[0].kill()
            self.end()
            self.merge()
            self.judge()

    def prepare(self, killed):
        """Shards to merge, what a whole merge of them holds, and how long it takes."""
        self.collect(mode="fast")
        time.sleep(0.5)
        for process in self.ranks if killed else []:
            process.kill()
        self.end()
        begin = time.monotonic()
        self.merge()
        self.judge()
        self.sums_before, self.reference = self.sums(), self.ask("check", self.out)
        return time.monotonic() - begin

    def killed_merges(self, within, times):
        self.out.unlink()
        for _ in range(times):
            self.kill_merge(within)
            if self.out.exists():
                assert self.ask("check", self.out) == self.reference, "a killed merge left a file that is not whole"
                self.whole += 1
                self.out.unlink()
            assert self.sums() == self.sums_before, "a killed merge changed a shard"
        self.merge()
        assert self.ask("check", self.out) == self.reference, "the merge after a killed one holds something else"
        assert self.sums() == self.sums_before, "a merge changed a shard"

    def merge_killed(self, moments):
        within = self.prepare(killed=False)
        for _ in range(moments):
            self.killed_merges(within, 1)

    def recover(self, moments):
        for moment in range(moments):
            if moment % 10 == 0:
                within = self.prepare(killed=True)
            self.killed_merges(within, 2)


SCENARIOS = {"one-rank": Test.one_rank, "all-ranks": Test.all_ranks, "launcher": Test.launcher,
             "merge": Test.merge_killed, "checkpoint": Test.checkpoint, "recover": Test.recover}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--moments", type=int, default=8)
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    test = Test(arguments.worker, f"{arguments.scenario} {arguments.seed}", flush=arguments.scenario == "checkpoint")
    try:
        SCENARIOS[arguments.scenario](test, arguments.moments)
    except AssertionError:
        print(f"the files are kept in {test.folder}")
        for process in [*getattr(test, "ranks", []), *([test.head] if hasattr(test, "head") else [])]:
            process.process.kill()
        raise
    shutil.rmtree(test.home)
    print(f"{arguments.scenario}: {arguments.moments} moments, {test.events} events checked, {test.lost} lost in all, at most "
          f"{test.largest_gap_ns / 1e6:.1f} ms before a kill; {test.unfinished} unfinished; {test.whole} killed merges had ended; "
          f"{test.busy} lanes not judged by time: the machine was busy")


if __name__ == "__main__":
    sys.exit(main())
