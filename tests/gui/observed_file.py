"""A stored run changed into what `spscope attach` leaves of a program that nobody planned.

Usage: observed_file.py FILE, for tests that are no Python. `spscope recover` then makes a file of it that opens.
"""
import math
import sqlite3
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "sql"))
import chunk_format  # noqa: E402

NO_STRATEGIES = (
    *(f"DELETE FROM {table}" for table in (
        "plan", "plan_op", "plan_part", "rank_usage", "traffic", "mask_place", "mask_thumbnail", "mask", "strategy_group", "strategy_pick",
        "problem", "chunk", "ledger", "lod_busy", "lod_strip", "pyramid", "track")),
    "DELETE FROM strategy WHERE strategy_id > 1", "DELETE FROM strategy_mesh WHERE strategy_id > 1",
    "DELETE FROM strategy_node WHERE strategy_id > 1", "DELETE FROM strategy_parameter WHERE strategy_id > 1",
    "DELETE FROM run WHERE run_id > 1", "DELETE FROM repeat WHERE run_id > 1",
    "UPDATE strategy SET mode = 3, id = 'observed', name = 'observed', label = 'python3', legal = 1, reason = ''",
    "UPDATE workload SET config_toml = 'python3 train.py', scope = 'observed'", "UPDATE repeat SET has_timeline = 0",
    "UPDATE run SET plan_id = NULL, tiles = 0.0")
RANKS, STEPS, STEP_NS = 2, 120, 1_000_000
TRANSFER, KERNEL, COPY, MEMSET, SYNCHRONIZE, API, OVERHEAD, ANNOTATION = 4, 7, 8, 9, 10, 11, 12, 13
LONGEST = 90_000  # of a copy, in ns
# Of each step at once: more than there are rows for.
EXCHANGES = 6
COUNTERS = (("power (W)", lambda t: 420 + 260 * math.sin(t * 9)), ("SM clock (MHz)", lambda t: 1980 - 350 * (int(t * 7) % 2)),
            ("utilization (%)", lambda t: float(int(50 + 49 * math.sin(t * 23)))), ("temperature (C)", lambda t: 41 + 9 * t),
            ("NVLink sent (GB/s)", lambda t: 180.0 if int(t * 40) % 5 else 0.0))


class Tracks:
    def __init__(self, store):
        self.store, self.last, self.names = store, 0, {}

    def name(self, text):
        if text not in self.names:
            self.names[text], = self.store.execute("SELECT max(string_id) + 1 FROM string").fetchone()
            self.store.execute("INSERT INTO string VALUES (?, ?)", (self.names[text], text))
        return self.names[text]

    def add(self, kind, name, rank, device=None, overlapping=0):
        self.last += 1
        self.store.execute("INSERT INTO track VALUES (?, ?, ?, ?, ?, ?, NULL, 0, ?)",
                           (self.last, kind, name, f"python3 {4_000 + rank}", device, rank, overlapping))
        return self.last

    def put(self, track, kind, events):
        """Events, or samples of a counter."""
        for at in range(0, len(events), 200):
            part = events[at:at + 200]
            if kind == 2:
                chunk_format.insert_counter(self.store, None, track, part)
            else:
                chunk_format.insert_chunk(self.store, None, track, kind, part)
        self.store.execute("INSERT INTO ledger VALUES (?, ?, ?, 0, 0, 0)", (track, len(events), len(events)))


def work(begin, length, name, category, correlation=0, size=0, detail=0):
    return dict(begin_ns=begin, end_ns=begin + length, op_id=-1, name_id=name, flags=category, bytes=size, correlation_id=correlation,
                work_detail_id=detail)


def operation(begin, queued, length, name, sequence, size, peer=-1):
    return dict(begin_ns=begin, end_ns=begin + length, op_id=-1, name_id=name, flags=TRANSFER, entry_ns=begin, transfer_begin_ns=begin + queued,
                transfer_end_ns=begin + length, sequence=sequence, bytes=size, communicator_id=0, peer=peer)


def add_tracks(path):
    store = sqlite3.connect(path)
    store.execute("INSERT INTO work_detail (work_detail_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, "
                  "static_shared_bytes, dynamic_shared_bytes, copy_kind, source_kind, target_kind, source_device, target_device, "
                  "synchronization_kind, device, context, stream) VALUES (1, 132, 8, 1, 128, 1, 1, 168, 0, 101376, 0, 0, 0, -1, -1, 0, 0, 1, 7)")
    tracks = Tracks(store)
    names = {text: tracks.name(text) for text in (
        "void attend<128, 64>(float*)", "gemm", "memset", "copy HtoD", "cudaLaunchKernel", "cudaStreamSynchronize", "step", "buffers of CUPTI",
        "AllReduce RING SIMPLE", "Send", "Recv")}
    for rank in range(RANKS):
        add_rank(tracks, names, rank)
    store.commit()
    store.close()


def add_rank(tracks, names, rank):
    device, shift = f"GPU {rank} at 0000:{0x3B + rank:02X}:00.0", 40_000 * rank
    stream, copies = tracks.add(1, "stream 7", rank, device), tracks.add(1, "stream 14", rank, device)
    calls, marks, took = (tracks.add(2, name, rank) for name in (f"thread {7_100 + rank}: calls", f"thread {7_100 + rank}: ranges", "overhead"))
    nccl = tracks.add(4, f"NCCL 0x5d3a90c1 rank {rank} of {RANKS}", rank, overlapping=1)
    rows = {track: [] for track in (stream, copies, calls, marks, took, nccl)}
    for step in range(STEPS):
        begin, n = step * STEP_NS + shift, 4 * step + 1
        rows[marks].append(work(begin, 950_000, names["step"], ANNOTATION))
        for i in range(4):
            rows[calls].append(work(begin + 20_000 * i, 9_000, names["cudaLaunchKernel"], API, n + i))
        rows[calls].append(work(begin + 200_000, 600_000, names["cudaStreamSynchronize"], SYNCHRONIZE))
        rows[stream] += [work(begin + 30_000, 20_000, names["memset"], MEMSET, n, 1 << 20),
                         work(begin + 60_000, 420_000, names["void attend<128, 64>(float*)"], KERNEL, n + 1, 0, 1),
                         work(begin + 500_000, 250_000, names["gemm"], KERNEL, n + 2, 0, 1)]
        rows[copies].append(work(begin + 100_000, LONGEST, names["copy HtoD"], COPY, n + 3, 64 << 20))
        if step % 10 == 0:
            rows[took].append(work(begin + 300_000, 80_000, names["buffers of CUPTI"], OVERHEAD))
        # Rank 1 comes last, and both end together.
        rows[nccl].append(operation(begin + 400_000, 60_000, 370_000 - shift, names["AllReduce RING SIMPLE"], 2 * step, 8 << 20))
        rows[nccl] += [operation(begin + 450_000 + 5_000 * i, 20_000, 200_000, names["Send" if i % 2 else "Recv"], 2 * step + 1, 1 << 18, 1 - rank)
                       for i in range(EXCHANGES)]
    for track, events in rows.items():
        tracks.put(track, 1 if track == nccl else 3, events)
    for name, value in COUNTERS:
        tracks.put(tracks.add(3, f"GPU {rank} {name}", rank, device), 2,
                   [(t * 2_000_000 + shift, value(t / 60 + rank / 3)) for t in range(65)])  # longer than there are events


if __name__ == "__main__":
    with sqlite3.connect(sys.argv[1]) as changed:
        for statement in NO_STRATEGIES:
            changed.execute(statement)
    changed.close()
    add_tracks(sys.argv[1])
