"""The oracle finds errors: each check fails on a document, an output or a result that was falsified.

Usage: test_oracle.py PROGRAM
"""
import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing (package python3-numpy)")
    sys.exit(77)

import frozen
import oracle

PROGRAM = str(Path(sys.argv.pop(1)).resolve())
CONFIG = """
[model]
preset = "{preset}"
grid = [3, 4, 8]
heads = 4
head_dim = 16
text_tokens = 5
ffn = 40
[mask]
pattern = "window"
density = 0.4
block = 8
[cluster]
profile = "cluster.toml"
ranks = 4
[run]
mode = "{mode}"
scope = "{scope}"
dtype = "fp32"
verify = "full"
repeats = 1
warmup = 0
seed = 3
strategies = ["ulysses", "usp:ulysses=2,ring=2,order=cyclic", "dbsp:ulysses=2,ring=2,reward=0", "single"]
"""
CLUSTER = """
name = "two nodes"
note = ""
gpus_per_node = 2
scalable = true
[network]
provenance = "assumed"
link_gbps = { value = 0.7, source = "" }
nic_gbps = { value = 0.3, source = "" }
intra_latency_ns = { value = 700.0, source = "" }
inter_latency_ns = { value = 1500.0, source = "" }
compute_slowdown = { value = 1.5, source = "" }
[cost]
provenance = "assumed"
attend_ns_per_launch = { value = 50.0, source = "" }
attend_ns_per_row = { value = 0.5, source = "" }
attend_ns_per_pair_channel = { value = 0.02, source = "" }
move_ns_per_byte = { value = 0.05, source = "" }
gemm_ns_per_flop = { value = 0.0007, source = "" }
"""


class Falsified(oracle.Case):
    """A case with a given config, some of whose documents are changed on their way to the checks."""

    def __init__(self, folder, preset, scope, mode="execute", falsify=None, spoil=None):
        self.program, self.folder, self.problems, self.mode = PROGRAM, folder, [], mode
        self.falsify, self.spoil = falsify, spoil
        (folder / "run.toml").write_text(CONFIG.format(preset=preset, scope=scope, mode=mode), "utf-8")
        (folder / "cluster.toml").write_text(CLUSTER, "utf-8")
        self.sections = {"model": {"preset": preset, "heads": 4}, "mask": {}, "run": {"mask_lag": 0, "scope": scope, "seed": 3}}

    def call(self, *arguments):
        document = super().call(*arguments)
        kind = "ops" if "--ops" in arguments else "plan" if arguments[0] == "plan" else \
            "simulated" if "run.mode=simulate" in arguments else \
            "passes" if "run.layers=2" in arguments else "executed" if "--dump" in arguments else "models"
        if self.falsify and self.falsify[0] == kind:
            document = copy.deepcopy(document)
            self.falsify[1](document)
        if self.spoil and kind == "executed":
            self.spoil(self.folder / "dump" / "layer-0")
        return document


def problems(preset="wan-mini", scope="attention", **changes):
    with tempfile.TemporaryDirectory() as folder:
        case = Falsified(Path(folder), preset, scope, **changes)
        case.run()
        return case.problems


def first_op(document, kind, plan=1):
    return next(op for op in document["plans"][plan]["ops"] if op["kind"] == kind)


def add(key, by, kind=None):
    def change(document):
        (first_op(document, kind) if kind else document["plans"][1])[key] += by
    return change


def raise_figure(name, by=1, at=None):
    def change(document):
        strategy = document["strategies"][1]
        if at is None:
            strategy[name] += by
        else:
            strategy[name][at] += by
    return change


def change_npy(name, change):
    def spoil(folder):
        array = np.load(folder / name)
        change(array)
        np.save(folder / name, array)
    return spoil


def swap_heads(array):
    array[[0, 1]] = array[[1, 0]]


def widen(document):
    """A key more in an attend of the plan: a set of its own."""
    plan = document["plans"][1]
    op = first_op(document, "attend")
    spans = plan["sets"][op["keys"]]
    plan["sets"].append([*spans[:-1], [spans[-1][0], spans[-1][1] - 1]])
    op["keys"] = len(plan["sets"]) - 1


def drop_dependency(document):
    for op in document["plans"][1]["ops"]:
        if op["kind"] == "attend" and op["after"]:
            op["after"] = []


class OracleFinds(unittest.TestCase):
    def expect(self, text, **changes):
        found = problems(**changes)
        self.assertTrue(any(text in problem for problem in found), f"{text!r} is not among {found[:5]}")

    def test_nothing_in_the_truth(self):
        for preset, scope in (("wan-mini", "attention"), ("wan-mini", "layer"), ("cogvideox-5b", "layer"),
                              ("hunyuanvideo", "layer"), ("open-sora-1.2", "attention"), ("open-sora-1.2", "layer")):
            self.assertEqual(problems(preset, scope), [], f"{preset} {scope}")

    def test_wrong_plans(self):
        self.expect("cost of op", falsify=("ops", add("cost_ns", 1.0, "attend")))
        self.expect("bytes of message", falsify=("ops", lambda d: d["plans"][1]["messages"][0].update(bytes=3)))
        self.expect("end_ns of ops", falsify=("ops", add("end_ns", 9, "exchange")))
        self.expect("begin_ns of ops", falsify=("ops", drop_dependency))
        self.expect("FLOPs of op", falsify=("ops", add("flops", 2, "attend")))
        self.expect("bytes touched by op", falsify=("ops", add("bytes_touched", 2, "finish")))
        self.expect("area", falsify=("ops", add("area", 1, "attend")))
        self.expect("misses an active key", falsify=("ops", widen))
        self.expect("plan --ops --json: ", falsify=("ops", lambda d: first_op(d, "attend").update(extra=1)))

    def test_wrong_figures(self):
        for name, at in (("bytes_sent", 0), ("bytes_sent_inter_node", 1), ("bytes_received", 2), ("messages", None),
                         ("bytes_by_tensor", "k"), ("imbalance_ratio", None), ("barrier_imbalance_ratio", None),
                         ("coupled_imbalance_ratio", None), ("tiles", None), ("moved_fraction", None)):
            self.expect(f"{name}: ", falsify=("plan", raise_figure(name, 1e-3 if at is None else 1, at)))
        self.expect("by strategies.md", falsify=("plan", lambda d: d["strategies"][1].update(name="ring")))
        self.expect("legal", falsify=("plan", lambda d: d["strategies"][3].update(legal=False)))
        for name, at in (("makespan_ns", None), ("compute_ns", 0), ("wire_ns", 1), ("wait_late_peer_ns", 2), ("other_ns", 3),
                         ("exposed_comm_ns", 0), ("attention_ns", None), ("memory_peak_bytes", 3)):
            self.expect(f"{name}: ", falsify=("simulated", raise_figure(name, 1, at)))
        self.expect("bound_ns: ", falsify=("simulated", lambda d: d["strategies"][3].update(bound_ns=1)))
        for name in ("speedup", "end_to_end_ns"):
            self.expect(f"{name}: ", falsify=("simulated", raise_figure(name, 1)))
        for name in ("makespan_ns", "tiles", "imbalance_ratio", "coupled_imbalance_ratio"):
            self.expect(f"4 passes: {name}: ", mode="simulate", falsify=("passes", raise_figure(name, 1)))
        self.expect("first slowest_rank", mode="simulate",
                    falsify=("passes", lambda d: d["strategies"][1]["by_layer"][0].update(slowest_rank=9)))
        self.expect("shares of time", falsify=("executed", raise_figure("other_ns", 1, 2)))
        self.expect("executed bytes_sent", falsify=("executed", raise_figure("bytes_sent", 1, 0)))

    def test_wrong_outputs(self):
        self.expect("row error", spoil=change_npy("o-usp.npy", swap_heads))
        self.expect("max_error", falsify=("executed", raise_figure("max_error", 1e-11)))
        for preset in ("wan-mini", "cogvideox-5b", "hunyuanvideo", "open-sora-1.2"):
            self.expect("row error", preset=preset, scope="layer", spoil=change_npy("mask.npy", lambda m: m[0, 0].fill(0)))


class FrozenTells(unittest.TestCase):
    def test_differences(self):
        before = {"a": [1, {"b": 2.0, "c": None}], "d": "x"}
        self.assertEqual(list(frozen.differences(before, copy.deepcopy(before), set())), [])
        for change in (lambda v: v["a"][1].update(b=2.0000001), lambda v: v["a"].append(1), lambda v: v.pop("d"),
                       lambda v: v["a"][1].update(c=0), lambda v: v.update(e=1), lambda v: v.update(d=["x"])):
            after = copy.deepcopy(before)
            change(after)
            self.assertEqual(len(list(frozen.differences(before, after, set()))), 1)
        self.assertEqual(list(frozen.differences(before, {**before, "d": "y"}, {"d"})), [])

    def test_two_freezes_agree_and_a_change_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("a.json", "b.json")]
            for path in files:
                self.assertEqual(frozen.main(["freeze", PROGRAM, str(path), "--cases", "2"]), 0)
            compare = [sys.executable, "-B", str(Path(__file__).with_name("frozen.py")), "compare", *map(str, files)]
            done = subprocess.run(compare, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "6 passed, 0 failed\n"))
            changed = json.loads(files[1].read_text("utf-8"))
            changed["results"]["plan-0"]["result"]["workload"]["tokens"] += 1
            files[1].write_text(json.dumps(changed), "utf-8")
            done = subprocess.run(compare, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("5 passed, 1 failed", done.stdout)
            done = subprocess.run([*compare, "--may-differ", "seed,tokens"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
