"""An oracle for spscope that shares no code with it: random configs are planned, simulated and executed, and what the
program prints is recomputed in double precision from `plan --ops --json` and `run --dump`, by the rules of docs/.

    oracle.py --program PATH [--seed N] [--cases M] [--first K] [--keep FOLDER]

Cases are those from number K on. Prints a line for each figure of a case that is not as recomputed, with the folder of its
config, and at last `N passed, N failed`.
"""
import json
import math
import os
import subprocess
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing (package python3-numpy)")
    sys.exit(77)

import attention
import cases
import configs
import figures
import layers
import masks
import rules
import schedule
import seeded
import sums
from passes import RATIO, PassChecks, baseline
from plan_document import Plan

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = 2e-7  # between the square roots of two errors: the program's reference takes 1 / sqrt(head_dim) as a float
SCHEDULED = 1e-6  # relative, of scheduled times, besides 2 ns: rounding to whole nanoseconds adds up


def mode_of(number):
    return "execute" if number % 2 else "simulate"


class Case(PassChecks):
    def __init__(self, program, folder, seed, number):
        self.program, self.folder, self.problems = program, folder, []
        self.mode = mode_of(number)
        self.sections = configs.write_case(folder, seed, number, self.mode)

    def call(self, *arguments):
        environment = {**os.environ, "TMPDIR": str(self.folder), "LC_ALL": "C.UTF-8"}
        done = subprocess.run([self.program, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=300)
        if done.returncode not in (0, 1, 2) or not done.stdout:
            self.problems.append(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
            return None
        return json.loads(done.stdout)

    def expect(self, what, found, expected, relative=0.0, absolute=0.0):
        if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)) and len(found) == len(expected):
            near = all(self.near(a, b, relative, absolute) for a, b in zip(found, expected))
        else:
            near = self.near(found, expected, relative, absolute)
        if not near:
            self.problems.append(f"{what}: {found} instead of {expected}")

    @staticmethod
    def near(found, expected, relative, absolute):
        numbers = (int, float)
        if not (isinstance(found, numbers) and isinstance(expected, numbers)) or relative == absolute == 0:
            return found == expected
        return abs(found - expected) <= absolute + relative * max(abs(found), abs(expected))

    # -- masks

    def mask_file(self):
        name = self.sections["mask"].get("file")
        return self.folder / name if name else None

    def masks(self, folder, workload, denoise_step=0, layer=0):
        """{axis: Mask} of a dumped layer pass; those of a file are compared with the file."""
        known = attention.read_masks(folder)
        if self.mask_file() is None:
            return known
        text, tokens = workload["text_tokens"], workload["inner_tokens"]
        cut = None
        if workload["text"] == "replicate" and text > 0:
            cut = text if self.sections["model"]["preset"] in rules.TEXT_FIRST else tokens - text
        wanted = masks.mask_of_file(self.mask_file(), self.sections["mask"].get("block", 64), tokens, cut, denoise_step, layer)
        where = f"mask of step {denoise_step}, layer {layer}"
        self.expect(f"{where}: block_starts", known["inner"].starts.tolist(), wanted.starts.tolist())
        if known["inner"].bits.shape != wanted.bits.shape or (known["inner"].bits != wanted.bits).any():
            self.problems.append(f"{where}: not that of the file")
        if "outer" in known and "temporal_pattern" not in self.sections["mask"] and not known["outer"].bits.all():
            self.problems.append(f"{where}: the frames do not all attend to each other")
        return known | {"inner": wanted}

    def lags(self):
        """Whether a plan knows the masks of the step before instead of those that run."""
        changes = masks.changes(self.mask_file()) if self.mask_file() else self.sections["mask"].get("pattern") in configs.EVOLVE
        return changes and self.sections["run"]["mask_lag"] == 1

    # -- one case

    def run(self):
        planned = self.call("plan", "run.toml", "--json")
        document = self.call("plan", "run.toml", "--ops", "--json")
        simulated = self.call("run", "run.toml", "--json", "--set", "run.mode=simulate", "--dump", "modelled")
        if planned is None or document is None or simulated is None:
            return
        self.validate(document)
        legal = [s for s in planned["strategies"] if s["legal"]]
        executed = None
        if self.mode == "execute" and legal:
            executed = self.call("run", "run.toml", "--json", "--dump", "dump")
            if executed is None:
                return
        plans = {p["strategy"]: Plan(document, p) for p in document["plans"]}
        self.expect("plans", sorted(plans), sorted(s["id"] for s in legal))
        workload = document["workload"]
        known = self.masks(self.folder / "modelled" / "layer-0", workload)
        self.check_workload(workload, known)
        for result in [planned, simulated] + ([executed] if executed else []):
            self.check_density(result, {(0, 0): known})
        by_id = lambda result: {s["id"]: s for s in result["strategies"]} if result else {}
        for s in planned["strategies"]:
            self.check_legality(s, workload, document["cluster"])
            if s["id"] not in plans:
                continue
            where = f"{s['label']}: "
            self.check_plan(where, plans[s["id"]], s, known)
            self.check_simulated(where, plans[s["id"]], by_id(simulated)[s["id"]], s)
            if executed:
                self.check_executed(where, by_id(executed)[s["id"]], s)
        self.check_bound(plans, by_id(simulated), known)
        self.check_comparison(simulated)
        if self.mode == "simulate" and legal:
            self.check_passes(workload, by_id(simulated), plans, known)
        if executed:
            self.masks(self.folder / "dump" / "layer-0", workload)
            self.check_outputs("dump", 0, workload, by_id(executed), legal)
            self.check_later_layers(workload, legal)

    def validate(self, document):
        try:
            import jsonschema
        except ImportError:
            return
        schema = json.loads((ROOT / "schemas/plan_ops.schema.json").read_text("utf-8"))
        error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(document))
        if error:
            self.problems.append(f"plan --ops --json: {error.json_path}: {error.message[:200]}")

    def check_workload(self, workload, known):
        for m in workload["masks"]:
            mask = known[m["axis"]]
            self.expect(f"block_starts of the {m['axis']} axis", m["block_starts"], mask.starts.tolist())
            self.expect(f"density of the {m['axis']} axis", m["density"], mask.density(), RATIO)
        self.expect("text_first", workload["text_first"],
                    self.mask_file() is not None and self.sections["model"]["preset"] in rules.TEXT_FIRST)

    def check_density(self, result, known):
        """`known`: {(denoise step, layer): masks}. Of a spatial-temporal model that of the attention inside frames."""
        densities = {at: mask["inner"].density() for at, mask in known.items()}
        if any(s["legal"] for s in result["strategies"]):
            self.expect(f"density of {len(known)} passes", result["workload"]["density"],
                        sum(densities.values()) / len(densities), RATIO)
        for s in result["strategies"]:
            for p in s["by_layer"]:
                at = p["denoise_step"], p["layer"]
                self.expect(f"{s['label']}: density of step {at[0]}, layer {at[1]}", p["density"], densities[at], RATIO)

    def check_legality(self, s, workload, cluster):
        node = cluster["node_of_rank"]
        self.expect(f"{s['id']}: legal", s["legal"], rules.legal(s["name"], s["parameters"], workload, len(node), node))

    def check_plan(self, where, plan, s, known):
        w = plan.workload
        for m in plan.messages:
            moved = 0 if m["from"] == m["to"] else plan.cells(m["box"]) * plan.cell_bytes(plan.posts[m["post"]]["src"])
            self.expect(f"{where}bytes of message {m['id']}", m["bytes"], moved)
            self.expect(f"{where}tensors of message {m['id']}", sum(m["tensors"].values()), moved)
        found = figures.bytes_figures(plan)
        for name, expected in found.items():
            self.expect(where + name, s[name], expected)
        tensors = found["bytes_by_tensor"] | {"kv": found["bytes_by_tensor"]["k"] + found["bytes_by_tensor"]["v"]}
        closed = rules.closed_form(s["name"], s["parameters"], s["resolved"], w, self.block(), plan.ranks)
        for name, expected in closed.items():
            self.expect(f"{where}bytes of {name} by strategies.md", tensors[name], expected)
        leaving = rules.between_nodes(s["name"], s["parameters"], w, self.block(), plan.ranks, plan.cluster["node_of_rank"])
        if leaving is not None:
            self.expect(f"{where}bytes between nodes by strategies.md", sum(s["bytes_sent_inter_node"]), leaving)
        for problem in sums.wrong(plan):
            self.problems.append(where + problem)
        self.check_costs(where, plan)
        for name, expected in figures.ratios(plan, s["resolved"]["groups"]["ring"]).items():
            self.expect(where + name, s[name], expected, RATIO)
        self.expect(where + "planned_imbalance_ratio", s["planned_imbalance_ratio"],
                    None if self.lags() else s["imbalance_ratio"], RATIO)
        self.expect(where + "moved_fraction", s["moved_fraction"],
                    figures.moved_fraction(plan, s["resolved"]["groups"]["ring"]), RATIO)
        self.check_masks(where, plan, s, known)

    def check_costs(self, where, plan):
        for op in plan.ops:
            flops = figures.flops(plan, op)
            if flops is not None:
                self.expect(f"{where}FLOPs of op {op['id']}", op["flops"], flops)
            if "bytes_touched" in op:
                self.expect(f"{where}bytes touched by op {op['id']}", op["bytes_touched"], figures.bytes_touched(plan, op))
            self.expect(f"{where}cost of op {op['id']}", op["cost_ns"], figures.cost_ns(plan, op), RATIO)
        self.expect(f"{where}issue_ns of ops", [op.get("issue_ns", 0) for op in plan.ops], figures.issue_ns(plan), RATIO, 0.51)

    def check_masks(self, where, plan, s, known):
        tiles, once = np.zeros(plan.ranks), 0.0
        for axis, mask in known.items():
            if not any(masks.axis_of(plan, op) == axis for op in plan.attends()):
                if mask.bits.any() and plan.workload["scope"] == "attention":
                    self.problems.append(f"{where}nothing attends along the {axis} axis")
                continue
            problems, of_rank, whole = masks.attended(plan, axis, mask)
            self.problems += [where + problem for problem in problems[:5]]
            tiles, once = tiles + of_rank, once + whole
        self.expect(where + "tiles", s["tiles"], float(tiles.sum()), RATIO)
        self.expect(where + "tiles_redundant", s["tiles_redundant"], float(tiles.sum()) - once, RATIO, 1e-6 * once + 1e-9)

    def check_simulated(self, where, plan, s, planned):
        durations = [math.ceil(op["cost_ns"]) for op in plan.ops]
        times = schedule.schedule(plan, durations, schedule.Network(plan.cluster), [op.get("issue_ns", 0) for op in plan.ops])
        slack = {"relative": SCHEDULED, "absolute": 2}
        for part, name in enumerate(("post_ns", "begin_ns", "end_ns")):
            self.expect(f"{where}{name} of ops", [op[name] for op in plan.ops], [t[part] for t in times], **slack)
        # From here on by the program's own times of ops, so that every figure is compared to the nanosecond.
        own = [(op["post_ns"], op["begin_ns"], op["end_ns"]) for op in plan.ops]
        total = schedule.makespan(own)
        self.expect(where + "makespan_ns", s["makespan_ns"], total)
        self.expect(where + "makespan_ns of the plan", plan.raw["makespan_ns"], total)
        if s["makespan_low_ns"] is not None and not s["makespan_low_ns"] <= total <= s["makespan_high_ns"]:
            self.problems.append(f"{where}makespan {total} is not between {s['makespan_low_ns']} and {s['makespan_high_ns']}")
        for name, expected in figures.shares_of_time(plan, own).items():
            self.expect(where + name, s[name], expected)
        self.expect(where + "attention_ns", s["attention_ns"], figures.attention_ns(plan, own))
        self.expect(where + "memory_peak_bytes", s["memory_peak_bytes"], figures.memory(plan, own))
        if any(peak > bound for peak, bound in zip(s["memory_peak_bytes"], planned["memory_peak_bytes"])):
            self.problems.append(f"{where}peak memory {s['memory_peak_bytes']} above its bound {planned['memory_peak_bytes']}")
        self.expect(where + "parameter_bytes", s["parameter_bytes"], figures.parameter_bytes(plan))
        for name in (*figures.bytes_figures(plan), "tiles", "tiles_redundant", "moved_fraction", "imbalance_ratio",
                     "barrier_imbalance_ratio", "coupled_imbalance_ratio", "planned_imbalance_ratio", "replans"):
            self.expect(f"{where}simulated {name}", s[name], planned[name], RATIO)

    def check_executed(self, where, s, planned):
        for name in ("bytes_sent", "bytes_sent_intra_node", "bytes_sent_inter_node", "bytes_received", "bytes_by_tensor",
                     "messages", "tiles"):
            self.expect(f"{where}executed {name}", s[name], planned[name], RATIO)
        over = [peak > bound for peak, bound in zip(s["memory_peak_bytes"], planned["memory_peak_bytes"])]
        if any(over):
            self.problems.append(f"{where}executed memory {s['memory_peak_bytes']} above {planned['memory_peak_bytes']}")
        parts = zip(s["compute_ns"], s["wire_ns"], s["wait_late_peer_ns"], s["other_ns"])
        self.expect(where + "shares of time", [sum(p) for p in parts], [s["makespan_ns"]] * len(s["compute_ns"]))

    def check_bound(self, plans, simulated, known):
        """The compute of `single`, with each attention launched once for the rows that have a key, over all ranks."""
        single = next((plan for plan in plans.values() if simulated[plan.raw["strategy"]]["name"] == "single"), None)
        for plan in plans.values():
            s = simulated[plan.raw["strategy"]]
            if s["bound_ns"] is not None and s["bound_ns"] > s["makespan_ns"]:
                self.problems.append(f"{s['label']}: makespan {s['makespan_ns']} below the bound {s['bound_ns']}")
        if single is None:
            return
        cost, w = single.cluster["cost"], single.workload
        total = sum(figures.cost_ns(single, op) for op in single.ops if op["kind"] != "attend")
        for axis, mask in known.items():
            sequences = (w["outer_tokens"] if axis == "inner" else w["inner_tokens"]) * w["batch"]
            area = sum(int(mask.pairs(head).sum()) for head in range(w["heads"])) * sequences
            if area:
                total += figures.attention_cost_ns(cost, w["head_dim"], mask.active_rows() * sequences, area)
        self.expect("bound_ns", simulated[single.raw["strategy"]]["bound_ns"], math.floor(total / single.ranks), 1e-9, 1)

    def check_comparison(self, simulated):
        """Speed-ups, and times of a whole generation, with the steps and passes of the model as it is listed."""
        legal = [s for s in simulated["strategies"] if s["legal"]]
        listed = self.call("list", "models", "--json")
        model = next(m for m in listed["models"] if m["name"] == self.sections["model"]["preset"])
        times = simulated["workload"]["model_layers"] * model["denoise_steps"] * model["cfg"]
        first = baseline(simulated["strategies"])
        for s in legal:
            self.expect(f"{s['label']}: speedup", s["speedup"], first["makespan_ns"] / s["makespan_ns"], RATIO)
            outside = s["outside_layers_ns"] or 0
            self.expect(f"{s['label']}: end_to_end_ns", s["end_to_end_ns"], s["makespan_ns"] * times + outside, RATIO)
            if self.sections["run"]["scope"] == "attention" or "profile" in self.sections["cluster"]:
                self.expect(f"{s['label']}: outside_layers_ns", s["outside_layers_ns"], None)

    # -- what was computed

    def block(self, layer=0):
        model = self.sections["model"]
        if self.sections["run"]["scope"] == "attention":
            return "attention"
        if model["preset"] in configs.LAYERS_OF_JOINT:
            of_preset, single = configs.LAYERS_OF_JOINT[model["preset"]]
            depth = model.get("layers", of_preset)
            return "double" if layer < depth - single * depth // of_preset else "single"
        return {"wan": "wan", "cog": "joint", "st-": "spatial-temporal 2", "ope": "spatial-temporal 2"}[model["preset"][:3]]

    def block_name(self, layer):
        """As layer.json has it."""
        return {"double": "double-stream", "single": "single-stream"}.get(self.block(layer), self.block(layer).split()[0])

    def check_later_layers(self, workload, legal):
        """Of an MM-DiT model the last layers are single streams."""
        layers_of_model = self.sections["model"].get("layers", 0)
        if layers_of_model == 0 or workload["scope"] == "attention":
            return
        executed = self.call("run", "run.toml", "--json", "--dump", "all", "--set", f"run.layers={layers_of_model}")
        if executed is None:
            return
        by_layer = [{s["id"]: s["by_layer"][layer] for s in executed["strategies"] if s["legal"]}
                    for layer in range(layers_of_model)]
        for layer, results in enumerate(by_layer):
            self.masks(self.folder / "all" / f"layer-{layer}", workload, 0, layer)
            self.check_outputs("all", layer, workload, results, legal)

    def check_outputs(self, dump, layer, workload, executed, legal):
        folder, dtype = self.folder / dump / f"layer-{layer}", workload["dtype"]
        ids = [s["id"] for s in legal]
        self.check_shape(attention.read_layer(folder), workload, layer)
        if workload["scope"] == "attention":
            found = attention.check(folder, workload, ids)
        else:
            weights = layers.Weights(self.folder / dump / "weights")
            found = {s: (error, error / layers.allowed(folder)) for s, error in layers.check(folder, weights, ids).items()}
            self.check_weights(weights, dtype, all_blocks=dump == "all")
        replicated = workload["text"] == "replicate" and workload["text_tokens"] > 0
        for s in legal:
            (error, of_tolerance), reported = found[s["id"]], executed[s["id"]]["max_error"]
            if not of_tolerance <= 1:
                self.problems.append(f"{s['label']}: row error {error:.3e}, {of_tolerance:.3g} of its tolerance")
            if executed[s["id"]]["verify"] != "passed":
                self.problems.append(f"{s['label']}: {executed[s['id']]['verify']} with {reported}, recomputed {error}")
            # The reported error may be that of a replica, which the dump does not have.
            apart = math.sqrt(reported) - math.sqrt(error) if math.isfinite(reported) else math.inf
            if not -REFERENCES <= apart <= (math.inf if replicated else REFERENCES):
                self.problems.append(f"{s['label']}: max_error {reported}, recomputed {error}")

    def check_shape(self, shape, workload, layer):
        self.expect("layer.json: block", shape["block"], self.block_name(layer))
        for key in shape:
            if key in workload:
                self.expect(f"layer.json: {key}", shape[key], workload[key])

    def check_weights(self, weights, dtype, all_blocks):
        """They are those of the seed, and there is none that the formulas do not need."""
        for name in seeded.differences(weights.folder, self.sections["run"]["seed"], dtype):
            self.problems.append(f"weights/{name}.npy: not that of the seed")
        if not all_blocks and weights.unread():
            self.problems.append(f"weights that no formula has: {weights.unread()}")


def main():
    parser = cases.parser("recomputes the figures that spscope prints for random configs")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    given = parser.parse_args()
    failed = sum(wrong for _, wrong in cases.run(given, Case, range(given.first, given.first + given.cases)))
    print(f"{given.cases - failed} passed, {failed} failed")
    return 1 if failed or not given.cases else 0


if __name__ == "__main__":
    sys.exit(main())
