"""The oracle finds errors: its checks fail on a document, an output or a result that was falsified. That they pass where
nothing is, the oracle itself shows.

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

import frozen
import oracle
import reasons
import sums

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
{mask}
block = 8
[cluster]
profile = "cluster.toml"
ranks = 4
[run]
layers = 1
mode = "{mode}"
scope = "{scope}"
dtype = "fp32"
verify = "full"
repeats = 1
warmup = 0
seed = 3
mask_lag = {lag}
text = "{text}"
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
    """A case with a given config, some of whose documents or dumped files are changed on their way to the checks. `steps`:
    the mask is from a file that has as many of it; with several of them plans know the one before. `kind` is the call
    whose dump `spoil` changes."""

    def __init__(self, folder, preset, scope, mode="execute", falsify=None, spoil=None, steps=0, text="shard", kind="executed"):
        self.program, self.folder, self.problems, self.mode = PROGRAM, folder, [], mode
        self.falsify, self.spoil, self.spoiled = falsify, spoil, kind
        mask = {"file": "mask.npy"} if steps else {"pattern": "window", "density": 0.4}
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in mask.items())
        lag = 1 if steps > 1 else 0
        (folder / "run.toml").write_text(
            CONFIG.format(preset=preset, scope=scope, mode=mode, mask=lines, lag=lag, text=text), "utf-8")
        (folder / "cluster.toml").write_text(CLUSTER, "utf-8")
        if steps:
            tokens = {"open-sora-1.2": 32, "wan-mini": 96}.get(preset, 101)
            np.save(folder / "mask.npy", file_mask(steps, tokens))
        self.sections = {"model": {"preset": preset, "heads": 4}, "mask": {**mask, "block": 8},
                         "cluster": {"profile": "cluster.toml"},
                         "run": {"mask_lag": lag, "scope": scope, "seed": 3}}

    def call(self, *arguments):
        document = super().call(*arguments)
        kind = "ops" if "--ops" in arguments else "plan" if arguments[0] == "plan" else \
            "simulated" if "run.mode=simulate" in arguments else \
            "kept" if "run.denoise_steps=3" in arguments else \
            "passes" if "run.layers=2" in arguments else "executed" if "--dump" in arguments else "models"
        for of, change in [self.falsify] if isinstance(self.falsify, tuple) else self.falsify or []:
            if of == kind:
                change(document)
        if self.spoil and kind == self.spoiled:
            self.spoil(self.folder / {"executed": "dump", "simulated": "modelled"}[kind] / "layer-0")
        return document


def file_mask(steps, tokens):
    """Uneven over heads, and in each step otherwise; from the second one on the first head is empty."""
    blocks = -(-tokens // 8)
    densities = np.linspace(0.2, 0.9, 4)[:, None, None]
    mask = np.stack([np.random.default_rng(step).random((1, 4, blocks, blocks)) < np.roll(densities, step, axis=0)
                     for step in range(steps)])
    mask[1:, :, 0] = False
    return mask.astype(np.uint8)


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


def add_to_density(document):
    document["workload"]["density"] += 1e-3


def change_json(name, change):
    def spoil(folder):
        content = json.loads((folder / name).read_text("utf-8"))
        change(content)
        (folder / name).write_text(json.dumps(content), "utf-8")
    return spoil


def raise_pass(name, at, by=1e-3):
    def change(document):
        document["strategies"][1]["by_layer"][at][name] += by
    return change


class RingOfThree:
    """A sum over ranks 0, 1 and 2 of one token each in a ring: the part of rank r starts at r + 1 and ends at r."""
    def __init__(self):
        self.sets = [np.array([t]) for t in range(3)] + [np.arange(3)]
        self.groups = [[0, 1, 2]]
        part = [[0, 0, t] for t in range(3)]
        self.values = [self.value(pending=[0], placement=[[[0, 0, 3]]] * 3),
                       self.value(pending=[0], sources=[0], placement=[[part[r]] for r in range(3)]),
                       self.value(pending=[0], placement=[[part[(r + 1) % 3]] for r in range(3)]),
                       self.value(placement=[[part[r]] for r in range(3)])]
        self.posts = [{"id": 0, "kind": "local", "src": None, "dst": 0, "operands": []},
                      {"id": 1, "kind": "reduce", "src": 0, "dst": 2, "operands": []},
                      {"id": 2, "kind": "reduce", "src": 2, "dst": 3, "operands": [1]}]
        self.messages = []
        for r in range(3):
            self.messages += [{"post": 1, "from": f, "to": r, "box": part[(r + 1) % 3]} for f in ((r + 2) % 3, r)]
            self.messages += [{"post": 2, "from": f, "to": r, "box": part[r]} for f in ((r + 2) % 3, r)]

    @staticmethod
    def value(placement, pending=(), sources=()):
        return {"pending": list(pending), "sources": list(sources), "placement": placement}


class SumsOverRanks(unittest.TestCase):
    def test_a_missing_and_a_doubled_share_are_found(self):
        plan = RingOfThree()
        plan.messages = [m for m in plan.messages if (m["post"], m["from"], m["to"]) != (1, 2, 2)]
        self.assertTrue(any("has the shares of" in text for text in sums.wrong(plan)))
        plan = RingOfThree()
        plan.messages.append(dict(plan.messages[1]))
        self.assertTrue(any("has the shares of" in text for text in sums.wrong(plan)))


class OracleFinds(unittest.TestCase):
    def expect(self, *texts, **changes):
        """Each of the texts is in a problem. Changes that are told apart by it can share a case."""
        found = problems(**changes)
        for text in texts:
            self.assertTrue(any(text in problem for problem in found), f"{text!r} is not among {found[:5]}")

    def test_wrong_plans(self):
        falsified = {"cost of op": add("cost_ns", 1.0, "attend"), "bytes of message": lambda d: d["plans"][1]["messages"][0].update(bytes=3),
                     "end_ns of ops": add("end_ns", 9, "exchange"), "FLOPs of op": add("flops", 2, "attend"),
                     "bytes touched by op": add("bytes_touched", 2, "finish"), "area": add("area", 1, "attend")}
        self.expect(*falsified, falsify=[("ops", change) for change in falsified.values()])
        self.expect("begin_ns of ops", falsify=("ops", drop_dependency))
        self.expect("misses an active key", falsify=("ops", widen))
        self.expect("plan --ops --json: ", falsify=("ops", lambda d: first_op(d, "attend").update(extra=1)))

    def test_wrong_figures(self):
        def expect_figures(kind, by, *figures, prefix="", **changes):
            self.expect(*(f"{prefix}{name}: " for name, _ in figures), **changes,
                        falsify=[(kind, raise_figure(name, by if at is None else 1, at)) for name, at in figures])
        expect_figures("plan", 1e-3, ("bytes_sent", 0), ("bytes_sent_inter_node", 1), ("bytes_received", 2), ("messages", None),
                       ("bytes_by_tensor", "k"), ("imbalance_ratio", None), ("barrier_imbalance_ratio", None),
                       ("coupled_imbalance_ratio", None), ("tiles", None), ("moved_fraction", None))
        expect_figures("simulated", 1, ("makespan_ns", None), ("compute_ns", 0), ("wire_ns", 1), ("wait_late_peer_ns", 2),
                       ("other_ns", 3), ("exposed_comm_ns", 0), ("attention_ns", None), ("memory_peak_bytes", 3))
        expect_figures("simulated", 1, ("speedup", None), ("end_to_end_ns", None))
        expect_figures("passes", 1, ("makespan_ns", None), ("tiles", None), ("imbalance_ratio", None), ("coupled_imbalance_ratio", None),
                       prefix="4 passes: ", mode="simulate")
        self.expect("legal", falsify=("plan", lambda d: d["strategies"][3].update(legal=False)))
        self.expect("bound_ns: ", falsify=("simulated", lambda d: d["strategies"][3].update(bound_ns=1)))
        self.expect("passes: slowest_excess", "passes: makespan_ns of passes", "passes: makespan_ns over layers", mode="simulate",
                    falsify=("passes", lambda d: d["strategies"][1]["by_layer"][0].update(slowest_excess=9, makespan_ns=9)))
        self.expect("shares of time", "executed bytes_sent",
                    falsify=[("executed", raise_figure("other_ns", 1, 2)), ("executed", raise_figure("bytes_sent", 1, 0))])

    def test_wrong_masks(self):
        def spoil_all(folder):
            change_npy("mask.npy", lambda m: m.__setitem__((1, 2, 3), 1 - m[1, 2, 3]))(folder)
            change_npy("mask_temporal.npy", lambda m: m[0].fill(0))(folder)
        for kind in ("simulated", "executed"):
            self.expect("not that of the file", "frames do not all attend", preset="open-sora-1.2", steps=1, kind=kind,
                        spoil=spoil_all)
        self.expect("block_starts", steps=1, spoil=change_npy("block_starts.npy", lambda b: b.__setitem__(1, b[1] + 1)))
        for kind in ("plan", "simulated", "executed"):
            self.expect("density of 1 passes", "density of step 0, layer 0",
                        falsify=[(kind, add_to_density), (kind, raise_pass("density", 0))])
        self.expect("density of 4 passes", "density of step 1, layer 1", mode="simulate",
                    falsify=[("passes", add_to_density), ("passes", raise_pass("density", 3))])
        self.expect("density of the inner axis", "text_first", falsify=(
            "ops", lambda d: (d["workload"]["masks"][0].update(density=0.5), d["workload"].update(text_first=True))))

    def test_wrong_plans_of_old_masks(self):
        falsified = {": mean planned_imbalance_ratio: ": raise_figure("planned_imbalance_ratio", 1e-3),
                     "without a known mask": lambda d: d["strategies"][1]["by_layer"][0].update(planned_imbalance_ratio=1.0),
                     ": planned_imbalance_ratio with a lag": raise_pass("planned_imbalance_ratio", 2),
                     ": imbalance_ratio with a lag": raise_pass("imbalance_ratio", 2),
                     ": planned_imbalance_ratio of layer 1": raise_pass("planned_imbalance_ratio", 3)}
        self.expect(*falsified, mode="simulate", steps=3, falsify=[("passes", change) for change in falsified.values()])
        def change_kept(document):
            for s in document["strategies"]:
                if s["name"] == "dbsp":
                    s["replans"] = 1 - s["replans"]
        self.expect("dbsp u2 r2 reward=0: replans", "dbsp u2 r2 reward=0: decided", mode="simulate", steps=3,
                    falsify=("kept", change_kept))
        self.expect("planned_imbalance_ratio of step 1, layer 0", mode="simulate", steps=1,
                    falsify=("passes", raise_pass("planned_imbalance_ratio", 2)))

    def test_wrong_outputs(self):
        self.expect("row error", spoil=change_npy("o-usp.npy", swap_heads))
        add_one = (lambda array: array.__setitem__((3, 5), array[3, 5] + 1))
        self.expect("usp u2 r2 cyclic: row error", scope="layer", spoil=change_npy("y-usp.npy", add_one))
        self.expect("ulysses u4: row error", scope="layer", spoil=change_npy("x.npy", add_one))

        def spoil_weights(folder):
            for name in ("wkv", "w2", "text", "cross_attention"):
                change_npy(f"../weights/{name}.npy", add_one)(folder)
            np.save(folder / "../weights/wx.npy", np.zeros(3, np.float32))
            change_json("layer.json", lambda d: d.update(dtype="bf16"))(folder)
        self.expect("weights/wkv.npy", "weights/w2.npy", "weights/text.npy", "weights/cross_attention.npy",
                    "that no formula has: ['wx']", "layer.json: dtype", scope="layer", spoil=spoil_weights)
        self.expect("max_error", falsify=("executed", raise_figure("max_error", 1e-11)))
        for preset in ("cogvideox-5b", "open-sora-1.2"):
            self.expect("row error", preset=preset, scope="layer", spoil=change_npy("mask.npy", lambda m: m[0, 0].fill(0)))


class FrozenTells(unittest.TestCase):
    def test_differences(self):
        before = {"a": [1, {"b": 2.0, "c": None}], "d": "x"}
        for change in (lambda v: v["a"][1].update(b=2.0000001), lambda v: v["a"].append(1), lambda v: v.pop("d"),
                       lambda v: v["a"][1].update(c=0), lambda v: v.update(e=1), lambda v: v.update(d=["x"])):
            after = json.loads(json.dumps(before))
            change(after)
            self.assertEqual(len(list(frozen.differences(before, after, set()))), 1)
        self.assertEqual(list(frozen.differences(before, {**before, "d": "y"}, {"d"})), [])


class FalsifiedReasons(reasons.Case):
    """A simulated config of which one figure of a strategy is changed, or one event left out."""

    def __init__(self, folder, change=None, lost_event=False):
        self.program, self.folder, self.problems, self.mode = PROGRAM, folder, [], "simulate"
        self.change, self.lost_event = change, lost_event
        (folder / "run.toml").write_text(CONFIG.format(preset="wan-mini", scope="attention", mode="simulate", lag=0,
                                                       mask='pattern = "window"\ndensity = 0.4', text="shard"), "utf-8")
        (folder / "cluster.toml").write_text(CLUSTER, "utf-8")

    def call(self, *arguments):
        document = super().call(*arguments)
        if self.change and arguments[0] == "run":
            slower = [s for s in document["strategies"] if s["why_slower"]]
            self.change(slower[0])
        return document

    def export(self):
        super().export()
        path = self.folder / "run.json"
        if self.lost_event:
            document = json.loads(path.read_text("utf-8"))
            document["traceEvents"].remove(next(e for e in document["traceEvents"] if e["args"].get("op", -1) >= 0))
            path.write_text(json.dumps(document), "utf-8")


def reason_problems(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        case = FalsifiedReasons(Path(folder), *arguments)
        pairs = case.run()
        return pairs, case.problems


class ReasonsAreChecked(unittest.TestCase):
    def test_each_figure_is_compared(self):
        def raised(*path):
            def change(s):
                for key in path[:-1]:
                    s = s[key]
                s[path[-1]] += 1
            return change

        def another_cause(s):
            s["why_slower"]["cause"] = "copies" if s["why_slower"]["cause"] != "copies" else "idle"

        for change in (raised("terms_ns", "tiles"), raised("path_terms_ns", "tiles"), raised("waited_for_ns", 0), raised("attention_launches"),
                       raised("why_slower", "difference_ns"), raised("why_slower", "terms_ns", "idle"),
                       raised("why_slower", "cause_ns"), another_cause):
            self.assertTrue(reason_problems(change)[1])

    def test_a_missing_event_is_found(self):
        self.assertTrue(reason_problems(None, True)[1])


if __name__ == "__main__":
    unittest.main()
