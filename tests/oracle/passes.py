"""What several layer passes give together, and what plans promise of masks that they do not know yet."""
import math

import numpy as np

import consecutive
import figures
import schedule
from plan_document import Plan

RATIO = 1e-9  # relative, of ratios, tiles and costs


def baseline(strategies):
    """What speed-ups are over: Ulysses; where it cannot run the fastest USP, or ring; where nobody asked, the first."""
    asked, legal = any(s["name"] == "ulysses" for s in strategies), [s for s in strategies if s["legal"]]
    fastest = [min((s for s in legal if s["name"] == name), key=lambda s: s["makespan_ns"], default=None) for name in ("usp", "ring")]
    ulysses = [s for s in legal if s["name"] == "ulysses"]
    return next((s for s in [*ulysses, *(fastest if asked else []), *legal] if s), None)


class PassChecks:
    """Of a Case (oracle.py): its calls, its masks, and where problems go."""

    def check_passes(self, workload, one_pass, plans, first_masks):
        """Several layer passes: sums, means and the largest of single ones."""
        layer_passes = 4
        result = self.call("run", "run.toml", "--json", "--set", "run.layers=2", "--set", "run.denoise_steps=2", "--dump",
                           "passes")
        if result is None:
            return
        self.expect("layer_passes_done", result["workload"]["layer_passes_done"], layer_passes)
        known = {(step, layer): self.masks(self.folder / "passes" / f"step-{step}" / f"layer-{layer}", workload, step, layer)
                 for step in range(2) for layer in range(2)}
        self.expect("first mask", [mask.bits.tolist() for mask in known[0, 0].values()],
                    [mask.bits.tolist() for mask in first_masks.values()])
        self.check_density(result, known)
        self.check_planned(result, plans, known)
        # One mask for all passes: every pass is the first one again.
        same = all(np.array_equal(m.bits, first_masks[axis].bits) for of in known.values() for axis, m in of.items()) and \
            not self.lags() and self.block(0) == self.block(1)
        for s in result["strategies"]:
            if not s["legal"]:
                continue
            where, first = f"{s['label']} in {layer_passes} passes: ", one_pass[s["id"]]
            passes = s["by_layer"]
            self.expect(where + "by_layer", [(p["denoise_step"], p["layer"]) for p in passes],
                        [(0, 0), (0, 1), (1, 0), (1, 1)])
            self.expect(where + "makespan_ns", s["makespan_ns"], sum(p["makespan_ns"] for p in passes))
            self.expect(where + "tiles", s["tiles"], sum(p["tiles"] for p in passes), RATIO)
            for name in ("imbalance_ratio", "barrier_imbalance_ratio", "coupled_imbalance_ratio"):
                self.expect(where + name, s[name], sum(p[name] for p in passes) / layer_passes, RATIO)
            for name in ("tiles", "imbalance_ratio"):
                self.expect(f"{where}first {name}", passes[0][name], first["by_layer"][0][name], RATIO)
            shares = zip(s["compute_ns"], s["wire_ns"], s["wait_late_peer_ns"], s["other_ns"])
            self.expect(where + "shares of time", [sum(of) for of in shares], [s["makespan_ns"]] * len(s["compute_ns"]))
            self.check_spread(where, s, result["strategies"])
            if not same:
                continue
            for name in ("bytes_sent", "bytes_received"):
                self.expect(where + name, s[name], [layer_passes * x for x in first[name]])
            for name in ("messages", "bound_ns"):
                self.expect(where + name, s[name], layer_passes * first[name])
            self.check_consecutive(where, s, plans[s["id"]])

    def check_consecutive(self, where, s, plan):
        """Two layers of one plan are one schedule; the second denoise step is the first one again."""
        both = consecutive.Consecutive([plan, plan])
        durations = [math.ceil(op["cost_ns"]) for op in both.ops]
        times = schedule.schedule(both, durations, schedule.Network(plan.cluster), both.issue_ns(figures.host_ends))
        slack = {"relative": 1e-6, "absolute": 4}
        self.expect(where + "makespan_ns of passes", [p["makespan_ns"] for p in s["by_layer"]], both.makespans(times) * 2,
                    **slack)
        slack["absolute"] = 2 * len(both.ops)
        shares = figures.shares_of_time(both, times)
        for name in ("compute_ns", "wire_ns", "wait_late_peer_ns", "other_ns"):
            self.expect(where + name, s[name], [2 * x for x in shares[name]], **slack)
        of_first = figures.shares_of_time(plan, times[:len(plan.ops)])["compute_ns"]
        slowest, mean = max(of_first), sum(of_first) / len(of_first)
        if mean > 0:
            found = s["by_layer"][0]
            self.expect(where + "slowest_rank", of_first[found["slowest_rank"]], slowest, 1e-6, 2)
            self.expect(where + "slowest_excess", found["slowest_excess"], slowest / mean - 1, 1e-6, 4 / mean)

    def check_spread(self, where, s, strategies):
        """Smallest, largest and standard deviation over layer passes."""
        of = {name: [p[name] for p in s["by_layer"]] for name in
              ("makespan_ns", "imbalance_ratio", "barrier_imbalance_ratio", "coupled_imbalance_ratio")}
        first = baseline(strategies)
        if s["speedup"] is not None:
            of["speedup"] = [a["makespan_ns"] / b["makespan_ns"] for a, b in zip(first["by_layer"], s["by_layer"])
                             if b["makespan_ns"]]
        for name, values in of.items():
            found = s["over_layers"][name]
            self.expect(f"{where}{name} over layers", [found["min"], found["max"], found["stddev"]],
                        [min(values), max(values), np.std(values, ddof=1)], RATIO, 1e-9 * max(values))

    def check_planned(self, result, plans, known):
        """The ratio that the known masks promised: with a lag, that of the plan made of the masks one step before, which
        plans without a lag know; the actual one then is that of the same rows on the masks that run."""
        lags, knowing = self.lags(), None
        if lags:
            document = self.call("plan", "run.toml", "--ops", "--json", "--set", "run.mask_lag=0")
            knowing = self.call("plan", "run.toml", "--json", "--set", "run.mask_lag=0", "--set", "run.layers=2")
            if document is None or knowing is None:
                return
            plans = {p["strategy"]: Plan(document, p) for p in document["plans"]}
            knowing = {s["id"]: s for s in knowing["strategies"]}
        for s in result["strategies"]:
            if not s["legal"]:
                continue
            where, by_pass = f"{s['label']}: ", {(p["denoise_step"], p["layer"]): p for p in s["by_layer"]}
            planned = {at: p["planned_imbalance_ratio"] for at, p in by_pass.items()}
            had = [ratio for ratio in planned.values() if ratio is not None]
            self.expect(f"{where}mean planned_imbalance_ratio", s["planned_imbalance_ratio"],
                        sum(had) / len(had) if had else None, RATIO)
            if not lags:
                for at, p in by_pass.items():
                    self.expect(f"{where}planned_imbalance_ratio of step {at[0]}, layer {at[1]}", planned[at],
                                p["imbalance_ratio"], RATIO)
                continue
            self.expect(f"{where}planned_imbalance_ratio without a known mask", [planned[0, 0], planned[0, 1]], [None, None])
            plan = plans[s["id"]]
            self.expect(f"{where}planned_imbalance_ratio with a lag", planned[1, 0],
                        figures.uneven(figures.held_work(plan, known[0, 0])), RATIO)
            self.expect(f"{where}imbalance_ratio with a lag", by_pass[1, 0]["imbalance_ratio"],
                        figures.uneven(figures.held_work(plan, known[1, 0])), RATIO)
            self.expect(f"{where}planned_imbalance_ratio of layer 1", planned[1, 1],
                        knowing[s["id"]]["by_layer"][1]["imbalance_ratio"], RATIO)
        if lags and len(known[0, 0]) == 1 and any(s["legal"] and s["name"] == "dbsp" for s in result["strategies"]):
            self.check_kept_plans()

    def check_kept_plans(self):
        """With a lag the second of three steps decides from the first masks. The third one keeps that while the barrier
        ratio on the second masks, which it knows, is within the threshold; then those masks promise what they gave."""
        result = self.call("run", "run.toml", "--json", "--set", "run.layers=2", "--set", "run.denoise_steps=3")
        for s in result["strategies"] if result else []:
            passes = {(p["denoise_step"], p["layer"]): p for p in s["by_layer"]}
            threshold, where = s["parameters"].get("threshold", 0), f"{s['label']}: "
            if not passes:
                continue
            if threshold == 0:
                self.expect(f"{where}replans", [s["replans"], *(p["decided"] for p in s["by_layer"])], [None] * 7)
                continue
            before = [passes[1, layer] for layer in range(2)]
            ratio, again = sum(p["barrier_imbalance_ratio"] for p in before) / 2, s["replans"] == 1
            if abs(ratio - threshold) > RATIO:
                self.expect(f"{where}replans", s["replans"], int(ratio > threshold))
            self.expect(f"{where}decided", [p["decided"] for p in s["by_layer"]], [False, False, True, True, again, again])
            if not again:
                self.expect(f"{where}planned_imbalance_ratio of a kept plan",
                            [passes[2, layer]["planned_imbalance_ratio"] for layer in range(2)],
                            [p["imbalance_ratio"] for p in before], RATIO)
