"""Kills processes of a collection at random moments and judges the file that is made of what they leave.

The writers are kill_worker's, with the ring, the writer and the shard of a run. Each acknowledges on a pipe what a
commit made safe. Afterwards:
  * every acknowledged event is in the file, in order and without a gap, and every chunk's checksum fits (it was read);
  * sent = stored + dropped + unreadable + lost for every lane, with `sent` as the now page has it;
  * no missing event had been there for more than 100 ms in which the writer could have committed it (kill_oracle.py);
  * what a killed lane was doing, and only that, is an unfinished event;
  * a merge that is killed leaves no file or a whole one, and the shards as they were.

Usage: kill_test.py WORKER SCENARIO [--moments N] [--seed S]
  one-rank    one of three ranks is killed, the others end; each second time they play back their log after every commit
  merge       a merge is killed and made again
  trace       a collector of another program's trace, which has no rank, is killed beside a rank that ends
Launchers, and merges of what killed ranks leave, are those of the program (kill_run_test.py).
"""
import argparse
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from kill_oracle import LOOK_S, Oracle, Watched, ask

RANKS = 3


class Process:
    """A worker that runs until its input is closed or it is killed."""

    def __init__(self, *words, page=None):
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.watched = page and Watched(page)
        self.killed = False
        self.acknowledged = {}
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):  # a line that was cut off acknowledges nothing
                rank, lane, events = map(int, line.split())
                self.acknowledged[rank, lane] = events

    def kill(self):
        self.killed = True
        if self.watched:
            self.watched.kill()
        else:
            self.process.kill()

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.reader.join()
        self.process.stdout.close()
        assert code == (-signal.SIGKILL if self.killed else 0), f"a worker ended with {code}"


class Test:
    def __init__(self, worker, seed):
        self.worker = worker
        self.random = random.Random(seed)
        self.folder = Path(tempfile.mkdtemp(prefix="spscope-kill-"))
        self.oracle = Oracle()
        self.out = self.folder / "out.db"
        self.whole, self.head, self.ranks, self.collector = 0, None, [], None

    # -- a collection

    def collect(self, ranks=RANKS, mode=""):
        for path in self.folder.iterdir():
            path.unlink()
        self.ranks = []
        self.head = Process(self.worker, "head", self.folder, ranks)
        for rank in range(ranks):
            self.ranks.append(Process(self.worker, "rank", self.folder, rank, mode, page=self.page(rank)))

    def page(self, rank):
        return self.folder / f"kill.rank-{rank}.now"

    def pause(self, least, most):
        time.sleep(self.random.uniform(least, most))

    def watch(self, seconds):
        """Looks at the ranks for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for process in self.ranks:
                process.watched.look()
            time.sleep(LOOK_S)

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

    def check(self):
        return ask(self.worker, "check", self.out)

    # -- the oracle

    def judge(self):
        merged = {(lane["rank"], lane["lane"]): lane for lane in self.check()}
        for rank, process in enumerate(self.ranks):
            for now in ask(self.worker, "now", self.page(rank)):
                place = now["rank"], now["lane"]
                acknowledged = process.acknowledged.get(place, 0)
                self.oracle.judge(process.watched, now, merged.get(place), acknowledged)
                if not process.killed:
                    lane = merged.get(place, {"events": 0, "unfinished": []})
                    sent = now["sent"] - now["dropped"]
                    assert lane["events"] == acknowledged == sent, f"{place} ended well, and lost events"
                    assert lane["unfinished"] == [], f"{place} ended well, and is shown as unfinished"

    def judge_trace(self):
        """Without a page nothing says what was lost; what is there is the beginning of each track, without a gap."""
        tracks = {track["lane"]: track for track in self.check() if track["rank"] < 0}
        missing = {number for _, number in self.collector.acknowledged} - set(tracks)
        assert not missing, f"tracks {missing} were acknowledged"
        for number, track in tracks.items():
            acknowledged, ledger = self.collector.acknowledged.get((-1, number), 0), track["ledger"]
            assert track["unbroken"] and not track["unfinished"], f"track {number}: {track}"
            assert track["events"] >= acknowledged, f"track {number}: {track}, {acknowledged} were acknowledged"
            assert ledger["sent"] == ledger["stored"] == track["events"], f"track {number}: {track}"
            self.oracle.events += track["events"]
            self.oracle.acknowledged += acknowledged

    # -- scenarios

    def one_rank(self, moments):
        for moment in range(moments):
            self.collect(mode="checkpoint" if moment % 2 else "")
            self.watch(self.random.uniform(0, 0.4))
            self.random.choice(self.ranks).kill()
            self.pause(0, 0.05)
            self.end()
            self.merge()
            self.judge()

    def trace(self, moments):
        for _ in range(moments):
            self.collect(ranks=1)
            self.collector = Process(self.worker, "trace", self.folder)
            self.watch(self.random.uniform(0, 0.4))
            self.collector.kill()
            self.collector.end()
            self.end()
            self.merge()
            self.judge()
            self.judge_trace()

    def merge_killed(self, moments):
        self.collect(mode="fast")
        self.watch(0.5)
        self.end()
        begin = time.monotonic()
        self.merge()
        within = time.monotonic() - begin
        self.judge()
        sums, reference = self.sums(), self.check()
        for _ in range(moments):
            self.out.unlink()
            process = self.start_merge()
            self.pause(0, within)
            process.kill()
            process.communicate()
            if self.out.exists():
                assert self.check() == reference, "a killed merge left a file that is not whole"
                self.whole += 1
                self.out.unlink()
            assert self.sums() == sums, "a killed merge changed a shard"
            self.merge()
            assert self.check() == reference, "the merge after a killed one holds something else"
            assert self.sums() == sums, "a merge changed a shard"


SCENARIOS = {"one-rank": Test.one_rank, "merge": Test.merge_killed, "trace": Test.trace}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--moments", type=int, default=8)
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    test = Test(arguments.worker, f"{arguments.scenario} {arguments.seed}")
    try:
        SCENARIOS[arguments.scenario](test, arguments.moments)
    except BaseException:
        print(f"the files are kept in {test.folder}")
        for process in filter(None, [*test.ranks, test.head, test.collector]):
            process.process.kill()
        raise
    shutil.rmtree(test.folder)
    print(f"{arguments.scenario}: {arguments.moments} moments, {test.oracle}; {test.whole} killed merges had ended")


if __name__ == "__main__":
    sys.exit(main())
