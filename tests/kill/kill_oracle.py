"""What is known of processes that are killed while they record, and what a file that is made of their shards must hold.

While a process lives it is looked at every few milliseconds: how many events its lanes had sent (its now page), and for
how long its thread `shard-writer`, which commits them, was ready to run and had no processor (/proc/PID/schedstat). So
it is known, whatever else the machine does, since when the oldest event that is missing had been there, and how much of
that time the thread could not have used. The rest may be 100 ms.
"""
import os
import signal
import struct
import time
from pathlib import Path

NEWEST_NS = 100_000_000
LOOK_S = 0.003
PAGE_HEADER = struct.Struct("<8sIi8xIII4x16x8x")  # backend/record/now_page.h
LINE_BYTES = 64


def raw_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def wait_until(holds, what, seconds=60):
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"waited in vain until {what}"
        time.sleep(0.01)


class Watched:
    """A process that records, by its now page."""

    def __init__(self, page):
        """Raises ValueError when the page is not written yet."""
        self.page = page
        self.file = open(page, "rb", buffering=0)
        header = os.pread(self.file.fileno(), PAGE_HEADER.size, 0)
        if not header.startswith(b"\0SPSNOW1"):
            raise ValueError("no page yet")
        _, _, self.pid, self.first_rank, self.ranks, self.lanes = PAGE_HEADER.unpack(header)
        self.writer = None  # folder of its thread in /proc
        self.samples = []   # (time, sent by (rank, lane), nanoseconds that the writer was kept waiting)
        self.ran = self.pending_ns = 0
        self.alive_ns = None  # when it was last seen to live

    def look(self):
        waited_ns = self.waited_ns()
        bytes_ = os.pread(self.file.fileno(), self.ranks * self.lanes * LINE_BYTES, LINE_BYTES)
        sent = {}
        for i, at in enumerate(range(0, len(bytes_), LINE_BYTES)):
            lane = self.first_rank + i // self.lanes, i % self.lanes
            events, dropped = struct.unpack_from("<qq", bytes_, at + 48)
            sent[lane] = events - dropped
        self.samples.append((raw_ns(), sent, waited_ns))

    def waited_ns(self):
        """A wait that goes on is not in schedstat yet: the thread is ready, and has not run since the last look."""
        try:
            if self.writer is None:
                self.writer = next(task for task in Path(f"/proc/{self.pid}/task").iterdir()
                                   if (task / "comm").read_text() == "shard-writer\n")
            state = (self.writer / "stat").read_text().rsplit(")", 1)[1].split()[0]
            self.alive_ns = raw_ns()
            ran, waited_ns, turns = map(int, (self.writer / "schedstat").read_text().split())
        except (OSError, StopIteration):  # not there yet, or gone, or a kernel that does not count
            return self.samples[-1][2] if self.samples else 0
        since_ns = raw_ns() - self.samples[-1][0] if self.samples else 0
        self.pending_ns = self.pending_ns + since_ns if state == "R" and (ran, turns) == self.ran else 0
        self.ran = ran, turns
        return waited_ns + self.pending_ns

    def kill(self):
        self.look()
        self.alive_ns = raw_ns()
        os.kill(self.pid, signal.SIGKILL)

    def missing_since(self, lane, stored):
        """(since when at the least the oldest event that is not stored was there, at the most, the writer's waiting since
        then), or None when nothing is missing."""
        for before, after in zip([self.samples[0], *self.samples], self.samples):
            if after[1].get(lane, 0) > stored:
                return after[0], before[0], self.samples[-1][2] - before[2]
        return None


class Oracle:
    """Judges lanes. A lane of a file is {"events": finished ones, "unbroken": whether they are the first ones, in order,
    "unfinished": their op_ids, "ledger"}; what its page says is a line of `now_lines`."""

    def __init__(self):
        self.largest_gap_ns = self.largest_wait_ns = self.unfinished = self.lost = self.events = 0

    def judge(self, process, now, lane):
        place = f"rank {now['rank']} lane {now['lane']}"
        if lane is None:
            lane = {"events": 0, "unbroken": True, "unfinished": [], "ledger": None}
        assert lane["unbroken"], f"{place}: events are out of order or missing in between"
        self.judge_ledger(place, now, lane)
        sent = now["sent"] - now["dropped"]
        self.judge_time(process, (now["rank"], now["lane"]), lane["events"])
        inside = [now["op"]] if now["op"] >= 0 and lane["events"] <= sent else []
        assert lane["unfinished"] == inside, f"{place}: was inside of {inside}, unfinished is {lane['unfinished']}"
        self.unfinished += len(inside)
        self.events += lane["events"]

    def judge_time(self, process, lane, stored):
        missing = process.missing_since(lane, stored)
        if missing is None or process.alive_ns is None:
            return
        least_ns, most_ns, waited_ns = missing
        gap_ns = process.alive_ns - least_ns
        assert gap_ns <= NEWEST_NS + waited_ns, (
            f"rank and lane {lane}: events are missing that were there for {gap_ns / 1e6:.1f} ms, of which the writer was kept waiting "
            f"{waited_ns / 1e6:.1f}")
        self.largest_gap_ns = max(self.largest_gap_ns, process.alive_ns - most_ns - waited_ns)
        self.largest_wait_ns = max(self.largest_wait_ns, waited_ns)

    def judge_ledger(self, place, now, lane):
        ledger = lane["ledger"]
        if ledger is None:
            assert lane["events"] == 0, f"{place}: no ledger"
            return
        total = ledger["stored"] + ledger["dropped"] + ledger["unreadable"] + ledger["lost"]
        assert ledger["sent"] == total, f"{place}: the ledger does not balance: {ledger}"
        assert ledger["stored"] - lane["events"] == len(lane["unfinished"]), f"{place}: {lane}"
        finished = ledger["sent"] - len(lane["unfinished"])
        assert finished == max(now["sent"], lane["events"] + now["dropped"]), f"{place}: {ledger}, the page says {now}"
        self.lost += ledger["lost"]

    def __str__(self):
        return (f"{self.events} events, {self.lost} lost, at most "
                f"{self.largest_gap_ns / 1e6:.1f} ms before a kill (and {self.largest_wait_ns / 1e6:.1f} ms kept waiting); "
                f"{self.unfinished} unfinished")
