"""The oracle finds errors: its checks of plans, masks and outputs fail on a document, an output or a mask that was falsified.
That its checks of times and figures do is shown by bench/faults, and that all pass where nothing is by the oracle itself.

Usage: test_oracle.py PROGRAM
"""
import json
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing (package python3-numpy)")
    sys.exit(77)

import oracle

PROGRAM = str(Path(sys.argv.pop(1)).resolve())
CLUSTER = str(Path(__file__).resolve().parents[2] / "samples/cluster-a800-2node.toml")
CONFIG = """
[model]
preset = "{preset}"
grid = [3, 4, 8]
heads = 4
head_dim = 16
text_tokens = 5
ffn = 40
[mask]
{mask}
block = 8
[cluster]
profile = "{cluster}"
ranks = 4
[run]
layers = 1
mode = "execute"
scope = "{scope}"
dtype = "fp32"
verify = "full"
repeats = 1
warmup = 0
seed = 3
strategies = ["ulysses", "usp:ulysses=2,ring=2,order=cyclic", "dbsp:ulysses=2,ring=2,reward=0", "single"]
"""


class Falsified(oracle.Case):
    """A case with a given config, some of whose documents or dumped files are changed on their way to the checks: `falsify`
    has pairs of a call and a change of what it gives, `spoil` changes the dump of the call `of`. `mask`: that of a
    file, in place of a pattern's."""

    def __init__(self, folder, preset="wan-mini", scope="attention", falsify=(), spoil=None, of="executed", mask=None):
        self.program, self.folder, self.problems, self.mode = PROGRAM, folder, [], "execute"
        self.falsify, self.spoil, self.spoiled = falsify, spoil, of
        keys = {"pattern": "window", "density": 0.4} if mask is None else {"file": "mask.npy"}
        (folder / "run.toml").write_text(CONFIG.format(
            preset=preset, scope=scope, cluster=CLUSTER,
            mask="\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())), "utf-8")
        if mask is not None:
            np.save(folder / "mask.npy", mask)
        self.sections = {"model": {"preset": preset, "heads": 4}, "mask": {**keys, "block": 8},
                         "cluster": {"profile": CLUSTER}, "run": {"mask_lag": 0, "scope": scope, "seed": 3}}

    def call(self, *arguments):
        document = super().call(*arguments)
        kind = "ops" if "--ops" in arguments else "plan" if arguments[0] == "plan" else \
            "simulated" if "run.mode=simulate" in arguments else "executed" if "--dump" in arguments else "other"
        for of, change in self.falsify:
            if of == kind:
                change(document)
        if self.spoil and kind == self.spoiled:
            self.spoil(self.folder / {"executed": "dump", "simulated": "modelled"}[kind] / "layer-0")
        return document


def plan_of(document):
    return next(plan for plan in document["plans"] if plan["strategy"] == "usp")


def first_op(document, kind):
    return next(op for op in plan_of(document)["ops"] if op["kind"] == kind)


def add(key, by, kind):
    return lambda document: first_op(document, kind).update({key: first_op(document, kind)[key] + by})


def change_npy(name, change):
    def spoil(folder):
        array = np.load(folder / name)
        change(array)
        np.save(folder / name, array)
    return spoil


def widen(document):
    """A key less in an attend of the plan: a set of its own."""
    plan, op = plan_of(document), first_op(document, "attend")
    spans = plan["sets"][op["keys"]]
    plan["sets"].append([*spans[:-1], [spans[-1][0], spans[-1][1] - 1]])
    op["keys"] = len(plan["sets"]) - 1


def drop_dependency(document):
    for op in plan_of(document)["ops"]:
        if op["kind"] == "attend":
            op["after"] = []


class OracleFinds(unittest.TestCase):
    def expect(self, falsified, **changes):
        """Each of the texts is in a problem. `falsified`: texts, or text -> (call, change) that it tells of; changes that are
        told apart by their texts can share a case."""
        with tempfile.TemporaryDirectory() as folder:
            case = Falsified(Path(folder), falsify=falsified.values() if isinstance(falsified, dict) else (), **changes)
            case.run()
        for text in falsified:
            self.assertTrue(any(text in problem for problem in case.problems), f"{text!r} is not among {case.problems[:5]}")

    def test_wrong_plans(self):
        self.expect({"cost of op": ("ops", add("cost_ns", 1.0, "attend")), "end_ns of ops": ("ops", add("end_ns", 9, "exchange")),
                     "bytes of message": ("ops", lambda d: plan_of(d)["messages"][0].update(bytes=3)),
                     "FLOPs of op": ("ops", add("flops", 2, "attend")), "area": ("ops", add("area", 1, "attend")),
                     "bytes touched by op": ("ops", add("bytes_touched", 2, "finish"))})
        self.expect({"begin_ns of ops": ("ops", drop_dependency)})
        self.expect({"misses an active key": ("ops", widen)})
        self.expect({"plan --ops --json: ": ("ops", lambda d: first_op(d, "attend").update(extra=1))})

    def test_wrong_masks(self):
        def spoil(folder):
            change_npy("mask.npy", lambda m: m.__setitem__((1, 2, 3), 1 - m[1, 2, 3]))(folder)
            change_npy("mask_temporal.npy", lambda m: m[0].fill(0))(folder)
        of_frames = np.ones((4, 4, 4), np.uint8)
        self.expect(["not that of the file", "frames do not all attend"], preset="open-sora-1.2", mask=of_frames, of="simulated", spoil=spoil)
        self.expect({"density of 1 passes": ("plan", lambda d: d["workload"].update(density=0.9)),
                     "text_first": ("ops", lambda d: d["workload"].update(text_first=True))})

    def test_wrong_outputs(self):
        self.expect(["row error"], spoil=change_npy("o-usp.npy", lambda o: o.__setitem__(0, o[1])))
        add_one = (lambda array: array.__setitem__((3, 5), array[3, 5] + 1))
        self.expect(["usp u2 r2 cyclic: row error"], scope="layer", spoil=change_npy("y-usp.npy", add_one))

        def spoil_weights(folder):
            change_npy("../weights/wkv.npy", add_one)(folder)
            np.save(folder / "../weights/wx.npy", np.zeros(3, np.float32))
        self.expect(["weights/wkv.npy", "that no formula has: ['wx']"], scope="layer", spoil=spoil_weights)


if __name__ == "__main__":
    unittest.main()
