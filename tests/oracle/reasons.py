"""Reasons, recomputed from exported events: the terms of every makespan, along its critical path too, who waited for whom. Of
simulated pairs of a strategy and the fastest one both are scheduled without the causes that are named.

    reasons.py --program PATH [--seed N] [--pairs M] [--jobs J] [--keep FOLDER]

Runs random configs, simulated ones with up to three layers, until M pairs were compared. Times come from `export --format
chrome`, messages, dependencies and costs from `plan --ops --json`, the rules from docs/metrics.md. Prints a line for each figure that is not as recomputed, then
`N pairs, M failed`.
"""
import collections
import copy
import json
import math
import subprocess
import sys

try:
    import numpy  # noqa: F401  (plan_document)
except ImportError:
    print("skipped: numpy is missing (package python3-numpy)")
    sys.exit(77)

import cases
import figures
import oracle
import schedule
from consecutive import Consecutive
from plan_document import COMMUNICATES, Plan

TERMS = ["launches", "rows", "tiles", "merges", "copies", "kernels", "slowdown", "late_peer", "packing", "latency", "wire_inside_nodes",
         "wire_between_nodes", "end_wait", "host", "idle"]
COLUMNS = {"compute_ns": TERMS[:7], "wait_late_peer_ns": ["late_peer"],
           "wire_ns": ["packing", "latency", "wire_inside_nodes", "wire_between_nodes"], "other_ns": ["end_wait", "host", "idle"]}
CAUSES = {"launches": ["launches"], "rows": ["rows"], "tiles": ["tiles"], "merges": ["merges"], "copies": ["copies", "packing"],
          "kernels": ["kernels"], "slowdown": ["slowdown"], "late_rank": ["late_peer", "end_wait"], "latency": ["latency"],
          "wire_inside": ["wire_inside_nodes"], "wire_between": ["wire_between_nodes"],
          "transfers": ["latency", "wire_inside_nodes", "wire_between_nodes"],
          "host": ["host"], "idle": ["idle"]}
TERM_OF_KIND = {"attend": "tiles", "merge": "merges", "finish": "merges", "copy": "copies", "local": "kernels"}
TRANSFERS = ("latency", "wire_inside", "wire_between", "transfers")
AS_OTHER = ("tiles", "kernels")
NS = 1000  # in a microsecond


def nearest(value):
    return math.floor(value + 0.5)


class Timeline:
    """Times and names of the operations of one strategy in consecutive layers, from exported events. The clock begins with
    the first pass. Of a pass, `makespans` has the time after the end of the one before it, its repeat all of its time."""

    def __init__(self, plan, passes, makespans):
        self.plan, self.network = plan, schedule.Network(plan.cluster)
        self.name, self.times, self.arguments = {}, {}, {}
        self.zeros = []  # of each pass: where its timeline begins, and where the pass before ended
        ended = 0
        for number, ((begin, length), events) in enumerate(passes):
            zero = ended + makespans[number] - length
            self.zeros.append((zero, ended))
            self.add(events, plan.first_op[number], begin - zero)
            ended += makespans[number]

    def add(self, events, first, zero):
        for event in events:
            at = first + event["args"]["op"]
            ns = [round(event[key] * NS) for key in ("ts", "dur")]
            ns[0] -= zero
            waited = round(event["args"].get("waited_us", 0) * NS)
            self.times[at] = (ns[0], ns[0] + waited, ns[0] + ns[1])
            self.name[at] = event["name"].removesuffix(" (modelled)")
            self.arguments[at] = event["args"]

    def complete(self):
        return len(self.times) == len(self.plan.ops)

    def relate(self):
        """What ops of other ranks share a post, and from when on each could run."""
        self.of_post, self.ready, last = collections.defaultdict(dict), {}, {}
        for op in self.plan.ops:
            self.of_post[op["post"]][op["rank"]] = op["id"]
            lane = op["rank"], op["lane"]
            before = op["after"] + ([last[lane]] if lane in last else [])
            self.ready[op["id"]] = max((self.times[b][2] + self.signal(b, op["id"]) for b in before), default=0)
            last[lane] = op["id"]
        numbers = self.plan.cluster["cost"]
        self.hosts = any(numbers[name] > 0 for name in numbers if name.startswith("host_ns_per_"))

    def signal(self, before, op):
        """How much later an op knows of the end of one of another rank, by the schedule."""
        ranks = self.plan.ops[before]["rank"], self.plan.ops[op]["rank"]
        return 0 if ranks[0] == ranks[1] else self.network.latency(self.plan, *ranks)

    def partners(self, op):
        met = set()
        if op["kind"] in ("reduce", "barrier"):
            met |= set(self.plan.groups[op["group"]])
        for m in op["messages"]:
            message = self.plan.messages[m]
            met |= {message["from"], message["to"]}
        return met - {op["rank"]}

    def late_rank(self, op):
        """The partner that posted last, the lower rank of several; the rank itself when it has none."""
        posted = [(-self.times[self.of_post[op["post"]][rank]][0], rank) for rank in self.partners(op)
                  if rank in self.of_post[op["post"]]]
        return min(posted)[1] if posted else op["rank"]

    def feeds(self):
        """Communication -> the first ring step of the attentions that need it."""
        steps = {}
        for op in self.plan.attends():
            step = self.plan.posts[op["post"]]["ring_step"]
            for before in op["needs"]:
                steps[before] = min(step, steps.get(before, step))
        return steps

    def latency(self, op):
        """From the first byte that could move until bytes flow."""
        if op["kind"] == "barrier":
            return math.inf
        post, found = self.plan.posts[op["post"]], 0
        for m in op["messages"]:
            a, b = self.plan.messages[m]["from"], self.plan.messages[m]["to"]
            if a != b:
                found = max(found, self.network.t0(self.plan, post, a, b), self.network.floor(post))
        return found

    def copies(self, op, end):
        """Packing what a rank sends or keeps in an all-to-all, or unpacking what it gets or keeps."""
        post = self.plan.posts[op["post"]]
        sent = [self.plan.messages[m] for m in op["messages"]]
        if op["kind"] != "exchange" or post["collective"] != "all_to_all" or all(m["from"] == m["to"] for m in sent):
            return 0
        cells = sum(self.plan.cells(m["box"]) for m in sent if m[end] == op["rank"])
        return schedule.whole(cells * self.plan.cell_bytes(post["src"]) * self.network.pack)

    def phases(self, op, modelled, posted=-math.inf):
        """When a transfer has packed, when its bytes flow, and when it unpacks. `posted`: what it began with was not
        posted before."""
        post, begin, end = self.times[op["id"]]
        post = max(post, posted)
        packed, unpacking, latency = begin, end, math.inf if op["kind"] == "barrier" else 0
        if modelled:
            packed = min(end, max(begin, post + self.copies(op, "from")))
            unpacking = max(packed, end - self.copies(op, "to"))
            latency = self.latency(op)
        return packed, min(packed + latency, end if op["kind"] == "barrier" else unpacking), unpacking

    def crosses(self, op):
        sent = [self.plan.messages[m] for m in op["messages"]]
        return any(self.plan.node(m["from"]) != self.plan.node(m["to"]) for m in sent)

    def owners(self, rank, modelled):
        """(term, op, nanoseconds) for each stretch of a rank's time between two borders."""
        mine = [op for op in self.plan.ops if op["rank"] == rank]
        key = {op["id"]: self.times[op["id"]] for op in mine}
        compute = sorted((key[op["id"]][1], op["id"]) for op in mine if op["kind"] not in COMMUNICATES)
        moving = sorted((key[op["id"]][1], op["id"]) for op in mine if op["kind"] in COMMUNICATES)
        waiting = sorted((key[op["id"]][0], op["id"]) for op in mine if op["kind"] in COMMUNICATES)
        phases = {i: self.phases(self.plan.ops[i], modelled) for _, i in moving}
        first = 0 if modelled else min(t[0] for t in self.times.values())
        last = max(t[2] for t in self.times.values())
        own_end = max((t[2] for t in key.values()), default=first)
        borders = {first, last, own_end} | {at for t in key.values() for at in t}
        borders |= {at for _, i in moving for at in phases[i]}
        borders = sorted(borders)
        for a, b in zip(borders, borders[1:]):
            inside = lambda begin, end: begin <= a and b <= end
            found = next((i for _, i in compute if inside(key[i][1], key[i][2])), None)
            if found is not None:
                yield "compute", found, b - a
                continue
            found = next((i for _, i in moving if inside(key[i][1], key[i][2])), None)
            if found is not None:
                packed, flowing, unpacking = phases[found]
                moved = "wire_between_nodes" if self.crosses(self.plan.ops[found]) else "wire_inside_nodes"
                yield ("packing" if a < packed else "latency" if a < flowing else moved if a < unpacking
                       else "packing"), found, b - a
                continue
            found = next((i for _, i in waiting if inside(key[i][0], key[i][1])), None)
            if found is not None:
                yield "late_peer", found, b - a
            elif a >= own_end:
                yield "end_wait", None, b - a
            else:
                held = modelled and self.hosts and any(inside(self.ready[i], t[0]) for i, t in key.items())
                yield ("host" if held else "idle"), None, b - a

    def detail(self, modelled):
        """Sums of terms over ranks, waits {(rank, late rank, collective, ring step): ns}, and ns by late rank."""
        sums, waits = dict.fromkeys(TERMS, 0), collections.Counter()
        ends = [max(self.times[op["id"]][2] for op in self.plan.ops if op["rank"] == rank)
                if any(op["rank"] == rank for op in self.plan.ops) else -math.inf for rank in range(self.plan.ranks)]
        last_rank = ends.index(max(ends))
        feeds = self.feeds()
        for rank in range(self.plan.ranks):
            computed = collections.Counter()
            for term, i, ns in self.owners(rank, modelled):
                if term == "compute":
                    computed[i] += ns
                    continue
                sums[term] += ns
                if term == "late_peer":
                    waits[rank, self.late_rank(self.plan.ops[i]), self.name[i], feeds.get(i, 0)] += ns
                if term == "end_wait":
                    waits[rank, last_rank, "end", 0] += ns
            for i, ns in computed.items():
                self.add_compute(self.plan.ops[i], ns, modelled, sums)
        waited_for = [0] * self.plan.ranks
        for (_, late, _, _), ns in waits.items():
            waited_for[late] += ns
        return sums, waits, waited_for

    def path_terms(self, number, modelled):
        """Terms along the critical path of a layer pass, from the end of the pass before: back from the op that ends last,
        over the partner that posted last or what ended last before it posted."""
        ids = range(self.plan.first_op[number], self.plan.first_op[number + 1])
        zero, ended = self.zeros[number]
        first = min(self.times[i][0] for i in ids)
        first, start = (min(first, zero), ended) if modelled else (first, -math.inf)
        on_lane, last = {}, {}
        for i in ids:
            lane = self.plan.ops[i]["rank"], self.plan.ops[i]["lane"]
            on_lane[i] = last.get(lane)
            last[lane] = i
        sums = dict.fromkeys(TERMS, 0)
        inside = lambda a, b, begin, end: max(0, min(b, end) - max(a, begin))
        at = max(ids, key=lambda i: (self.times[i][2], -i))
        reached = self.times[at][2]
        while at is not None:
            op, packs = self.plan.ops[at], at
            if op["kind"] in COMMUNICATES - {"pull", "push"}:  # which begin when they post
                late = self.of_post[op["post"]].get(self.late_rank(op), at)
                packs = late if self.times[late][0] > self.times[at][0] else at
            before = max([b for b in (on_lane[packs], *self.plan.ops[packs]["needs"]) if b is not None],
                         key=lambda b: self.times[b][2] + (self.signal(b, packs) if modelled else 0),
                         default=None)  # the first of equal ones
            begin = min(max(self.times[at][1], first), reached)
            low, high = max(begin, start), max(reached, start)
            if op["kind"] in COMMUNICATES:
                packed, flowing, unpacking = self.phases(op, modelled, self.times[packs][0])
                sums["packing"] += inside(self.times[at][1], packed, low, high) + inside(unpacking, self.times[at][2], low, high)
                sums["latency"] += inside(packed, flowing, low, high)
                sums["wire_between_nodes" if self.crosses(op) else "wire_inside_nodes"] += inside(flowing, unpacking, low, high)
            else:
                self.add_compute(op, high - low, modelled, sums)
            reached = begin
            until = max(first, min(reached, first if before is None else self.times[before][2]))
            known = min(reached, until + (self.signal(before, packs) if modelled and before is not None else 0))
            sums["latency"] += max(known, start) - max(until, start)
            sums["host" if modelled and self.hosts else "idle"] += max(reached, start) - max(known, start)
            reached, at = until, before
        return sums

    def add_compute(self, op, ns, modelled, sums):
        if modelled:
            cost = math.ceil(op["cost_ns"])
            sums["slowdown"] += max(0, ns - cost)
            ns = min(ns, cost)
            if op["kind"] == "attend":
                numbers = self.plan.cluster["cost"]
                launch = min(ns, nearest(numbers["attend_ns_per_launch"]))
                whole_rows = figures.attention_cost_ns(numbers, self.plan.workload["head_dim"], op["rows"], 0,
                                                       self.plan.accumulator_of(op)["slices"])
                rows = min(ns - launch, nearest(whole_rows - numbers["attend_ns_per_launch"]))
                merge = min(ns - launch - rows, nearest(figures.ring_merge_ns(self.plan, op)))
                sums["launches"] += launch
                sums["rows"] += rows
                sums["merges"] += merge
                ns -= launch + rows + merge
        sums[TERM_OF_KIND[op["kind"]]] += ns


def means(sums, ranks):
    found, total, given = {}, 0, 0
    for name in TERMS:
        total += sums[name]
        found[name] = total // ranks - given
        given += found[name]
    return found


def more_of(cause, terms, base):
    return sum(terms[name] - base[name] for name in CAUSES[cause])


def parts(plan, op, cost):
    """What an op of compute takes, by terms; compute that was not disturbed has no slowdown."""
    sums, ns = dict.fromkeys(TERMS, 0), math.ceil(op["cost_ns"])
    if op["kind"] == "attend":
        whole_rows = figures.attention_cost_ns(cost, plan.workload["head_dim"], op["rows"], 0,
                                               plan.accumulator_of(op)["slices"])
        sums["launches"] = min(ns, nearest(cost["attend_ns_per_launch"]))
        sums["rows"] = min(ns - sums["launches"], nearest(whole_rows - cost["attend_ns_per_launch"]))
        sums["merges"] = min(ns - sums["launches"] - sums["rows"], nearest(figures.ring_merge_ns(plan, op)))
        ns -= sum(sums.values())
    sums[TERM_OF_KIND[op["kind"]]] += ns
    return sums


class Free(schedule.Network):
    """Without wire inside nodes, or between them."""

    def __init__(self, cluster, scales):
        super().__init__(cluster)
        self.scales = scales

    def links(self, plan, post, group, a, b):
        free = "wire_inside" if plan.node(a) == plan.node(b) else "wire_between"
        return {} if free in self.scales else super().links(plan, post, group, a, b)


class Supposed:
    """Consecutive passes of one plan and the time that they take without some causes."""

    def __init__(self, plan):
        self.plan, cost = plan, plan.cluster["cost"]
        self.parts = [None if op["kind"] in COMMUNICATES else parts(plan, op, cost) for op in plan.ops]
        self.compute = {cause: sum(of[cause] for of in self.parts if of) for cause in AS_OTHER}

    def makespan(self, scales):
        """`scales`: what the time of a cause is multiplied by, where that is not 1."""
        cause_of = {name: cause for cause, names in CAUSES.items() for name in names if cause != "transfers"}
        durations = [0 if of is None else nearest(sum(ns * scales.get(cause_of[name], 1) for name, ns in of.items()))
                     for of in self.parts]
        if "late_rank" in scales:
            for begin, end in zip(self.plan.first_op, self.plan.first_op[1:]):
                self.spread(range(begin, end), durations)
        issue_ns = [0 if "host" in scales else ns for ns in self.plan.issue_ns(figures.host_ends)]
        times = schedule.schedule(self.plan, durations, Free(self.cluster(scales), scales), issue_ns)
        return max((end for _, _, end in times), default=0)

    def cluster(self, scales):
        cluster = copy.deepcopy(self.plan.cluster)
        for name, section in cluster.items():
            if name.startswith("network") and "latency" in scales:
                section.update({key: 0 for key in section if key.endswith("_ns")})
        if "slowdown" in scales:
            cluster["network"]["compute_slowdown"] = 1
        cluster["cost"]["pack_ns_per_byte"] *= scales.get("copies", 1)
        return cluster

    def spread(self, ids, durations):
        """Attention and other compute of every rank take the mean over ranks, and in a post all ops the same part of it."""
        for attention in (True, False):
            ops, of_post, of_rank = self.plan.ops, collections.defaultdict(list), collections.Counter()
            mine = [i for i in ids if ops[i]["kind"] not in COMMUNICATES and (ops[i]["kind"] == "attend") == attention]
            for i in mine:
                of_post[ops[i]["post"]].append(durations[i])
            even = {i: sum(of_post[ops[i]["post"]]) / len(of_post[ops[i]["post"]]) for i in mine}
            for i in mine:
                of_rank[ops[i]["rank"]] += even[i]
            mean = sum(of_rank.values()) / self.plan.ranks
            for i in mine:
                if of_rank[ops[i]["rank"]] > 0:
                    durations[i] = nearest(even[i] * mean / of_rank[ops[i]["rank"]])


def remaining(slower, faster, causes):
    """Of the difference of two plans, without causes: of tiles and kernels the slower one spends no more than the faster
    one, others take no time in both."""
    parts_of = {"transfers": ("latency", "wire_inside", "wire_between")}
    of_both = {part: 0 for cause in causes if cause not in AS_OTHER for part in parts_of.get(cause, (cause,))}
    of_slower = {cause: faster.compute[cause] / slower.compute[cause] for cause in causes
                 if cause in AS_OTHER and slower.compute[cause] > faster.compute[cause]}
    return slower.makespan(of_both | of_slower) - faster.makespan(of_both)


def spans_text(numbers):
    """"0-4, 7" of ascending numbers."""
    texts, first = [], None
    for i, n in enumerate(numbers):
        first = n if first is None else first
        if i + 1 == len(numbers) or numbers[i + 1] != n + 1:
            texts.append(f"{first}-{n}" if n > first else f"{n}")
            first = None
    return ", ".join(texts)


def heads_by_rank(plan):
    """Where a rank has a part of the heads, which ones."""
    texts = []
    for rank in range(plan.ranks):
        heads = sorted({h for op in plan.attends() if op["rank"] == rank for h in plan.sets[op["heads"]].tolist()})
        text = spans_text(heads) if 0 < len(heads) < plan.workload["heads"] else None
        texts.append(f"{len(heads)} heads" if text and len(text) > 24 else text)
    return texts


class Case(oracle.Case):
    layers = 1

    def layers_of_model(self):
        model = self.sections["model"]
        listed = self.call("list", "models", "--json")["models"]
        return model.get("layers") or next(m["layers"] for m in listed if m["name"] == model["preset"])

    def run(self):
        """Returns the number of pairs."""
        documents = [self.call("plan", "run.toml", "--ops", "--json", "--set", f"run.layers=[{layer}]")
                     for layer in range(self.layers)]
        result = self.call("run", "run.toml", "--json", "-o", "run.db", "--set", f"run.layers={self.layers}")
        if None in documents or result is None:
            return 0
        self.export()
        events, repeats = collections.defaultdict(list), {}
        for event in json.loads((self.folder / "run.json").read_text("utf-8"))["traceEvents"]:
            if event["ph"] != "X" or event["args"].get("repeat", 0) != 0:
                continue
            of = event["args"].get("strategy"), event["args"].get("layer")
            if event["args"].get("op", -1) >= 0:
                events[of].append(event)
            elif event["cat"] == "repeat":
                repeats[of] = [round(event[key] * NS) for key in ("ts", "dur")]
        details, plans = {}, {}
        for s in result["strategies"]:
            found = [Plan(document, p) for document in documents for p in document["plans"] if p["strategy"] == s["id"]]
            if not s["legal"] or len(found) < self.layers:
                continue
            plans[s["id"]] = Consecutive(found)
            passes = [(repeats[s["id"], layer], events[s["id"], layer]) for layer in range(self.layers)]
            details[s["id"]] = self.check_strategy(s, plans[s["id"]], passes)
        return self.check_pairs(result, details, plans)

    def export(self):
        subprocess.run([self.program, "export", "run.db", "--format", "chrome", "-o", "run.json"], cwd=self.folder, check=True,
                       capture_output=True, timeout=300)

    def check_strategy(self, s, plan, passes):
        where = f"{s['label']}: "
        timeline = Timeline(plan, passes, [p["makespan_ns"] for p in s["by_layer"]])
        if not timeline.complete():
            self.problems.append(f"{where}{len(timeline.times)} of {len(plan.ops)} operations have events")
            return None
        timeline.relate()
        for first, of_pass in zip(plan.first_op, plan.plans):
            for op in of_pass.ops:
                self.check_arguments(where, of_pass, op, timeline, first + op["id"])
        modelled = self.mode == "simulate"
        sums, waits, waited_for = timeline.detail(modelled)
        terms = means(sums, plan.ranks)
        self.expect(where + "terms_ns", s["terms_ns"], terms)
        self.expect(where + "sum of terms", sum(s["terms_ns"].values()), s["makespan_ns"])
        of_passes = [timeline.path_terms(number, modelled) for number in range(len(plan.plans))]
        path = {name: sum(of[name] for of in of_passes) for name in TERMS}
        self.expect(where + "path_terms_ns", s["path_terms_ns"], path)
        self.expect(where + "sum of path_terms", sum(s["path_terms_ns"].values()), s["makespan_ns"])
        for column, names in COLUMNS.items():
            self.expect(where + column, sum(sums[name] for name in names), sum(s[column]))
        self.expect(where + "waited_for_ns", s["waited_for_ns"], waited_for)
        found = {(w["rank"], w["late_rank"], w["collective"], w["ring_step"]): w["wait_ns"] for w in s["rank_waits"]}
        if len(waits) <= 256:
            self.expect(where + "rank_waits", found, dict(waits))
        lengths = [w["wait_ns"] for w in s["rank_waits"]]
        self.expect(where + "order of rank_waits", lengths, sorted(lengths, reverse=True))
        self.expect(where + "attention_launches", s["attention_launches"], len(plan.attends()))
        return terms, path, waited_for

    def check_arguments(self, where, plan, op, timeline, joined):
        arguments = timeline.arguments[joined]
        if op["kind"] == "attend":
            self.expect(f"{where}tiles of op {op['id']}", arguments["tiles"], op["tiles"])
            self.expect(f"{where}heads of op {op['id']}", arguments["heads"], spans_text(plan.sets[op["heads"]].tolist()))
            self.expect(f"{where}ring step of op {op['id']}", arguments["ring_step"], plan.posts[op["post"]]["ring_step"])
        elif op["kind"] in COMMUNICATES:
            self.expect(f"{where}peers of op {op['id']}", arguments["peers"],
                        sorted(timeline.partners(timeline.plan.ops[joined])))

    def check_pairs(self, result, details, plans):
        runnable = [s for s in result["strategies"] if details.get(s["id"]) and s["verify"] != "failed"]
        judged = [s for s in runnable if s["why_slower"] is not None]
        empty = result["workload"]["density"] == 0
        if empty or any(s["timing"] != "clean" for s in runnable) or len(runnable) < 2:
            self.expect("reasons where nothing compares", [s["id"] for s in judged], [])
            return 0
        if any(s["disturbed"] for s in runnable):
            self.expect("reasons of disturbed times", [s["id"] for s in judged], [])
            return 0
        fastest = min(runnable, key=lambda s: s["makespan_ns"])  # the first of equal ones
        error = next(v["ratio_error"] for v in result["verdicts"] if v["mode"] == fastest["mode"])
        for s in runnable:
            self.check_reason(s, fastest, details, plans, error)
        return len(runnable) - 1

    def is_told(self, s, fastest, error):
        """Only of a difference that the model, or the spread of the repeats, shows."""
        difference = s["makespan_ns"] - fastest["makespan_ns"]
        spreads = [of["makespan_spread_ns"] for of in (s, fastest) if of["makespan_spread_ns"] is not None]
        if error is None and spreads:
            return difference > max(spreads)
        rest = 0 if error is None else error["rest_of_layer_ns"] * len(s["by_layer"])  # the error is of whole layers
        return s["makespan_ns"] + rest >= (1 + (0.10 if error is None else error["median"])) * (fastest["makespan_ns"] + rest)

    def check_reason(self, s, fastest, details, plans, error):
        where, reason = f"{s['label']} against {fastest['label']}: ", s["why_slower"]
        (terms, path, waited_for), (base, base_path, _) = details[s["id"]], details[fastest["id"]]
        difference = s["makespan_ns"] - fastest["makespan_ns"]
        if s["id"] == fastest["id"] or difference <= 0 or not self.is_told(s, fastest, error):
            self.expect(where + "why_slower", reason, None)
            return
        more = {cause: more_of(cause, terms, base) for cause in CAUSES}
        on_path = {cause: more_of(cause, path, base_path) for cause in CAUSES}
        if reason is None:  # right where nothing of which it has clearly more shortens the difference
            slower, faster = Supposed(plans[s["id"]]), Supposed(plans[fastest["id"]])
            clear = [c for c in CAUSES if 20 * (max(more[c], on_path[c]) if c in TRANSFERS else more[c]) > difference]
            if self.mode != "simulate" or any(remaining(slower, faster, [cause]) < difference for cause in clear):
                self.problems.append(where + "no reason is given")
            return
        self.expect(where + "than", reason["than"], fastest["id"])
        self.expect(where + "difference_ns", reason["difference_ns"], difference)
        self.expect(where + "terms_ns", reason["terms_ns"], {name: terms[name] - base[name] for name in TERMS})
        self.expect(where + "sum of terms", sum(reason["terms_ns"].values()), difference)
        self.expect(where + "cause", reason["cause"], reason["causes"][0])
        for cause in reason["causes"]:
            if more[cause] <= 0 and not (cause in TRANSFERS and on_path[cause] > 0):
                self.problems.append(f"{where}{cause} is not more than that of the fastest")
        if self.mode == "simulate":
            self.check_without(where, reason, difference, more, Supposed(plans[s["id"]]), Supposed(plans[fastest["id"]]))
        late = reason["late_rank"]
        self.expect(where + "late rank", late and late["rank"],
                    waited_for.index(max(waited_for)) if "late_rank" in reason["causes"] else None)
        if late:
            of_passes = [heads_by_rank(plan) for plan in plans[s["id"]].plans]
            same = all(of == of_passes[0] for of in of_passes)
            self.expect(where + "its heads", late["heads"], of_passes[0][late["rank"]] if same else None)

    def check_without(self, where, reason, difference, more, slower, faster):
        """What is named takes half of the difference away, a second cause where the first takes less than two thirds and it a
        twentieth more. Where the first does not take half, no single one does."""
        causes, left = reason["causes"], remaining(slower, faster, reason["causes"])
        slack = 4 + 2e-3 * difference
        alone = remaining(slower, faster, causes[:1])
        gone = 1 - left / difference
        self.expect(where + "shares", sum(reason["shares"]), gone if len(causes) == 1 else min(1, gone), 0, slack / difference)
        if len(causes) == 2 and 3 * alone < difference - slack:
            self.problems.append(f"{where}{alone} of {difference} ns remain without the first of {causes}")
        others = [c for c in CAUSES if c not in ("transfers", *causes) and more[c] * 20 > difference]
        if len(causes) == 1 and 3 * left > difference + slack and causes != ["transfers"]:
            for cause in others:
                if remaining(slower, faster, [*causes, cause]) < left - difference / 20 - slack:
                    self.problems.append(f"{where}{cause} is not named beside {causes}")
        self.expect(where + "cause_ns", reason["cause_ns"], difference - left, 0, slack)
        if not reason["shared"] and 2 * left > difference + slack:
            self.problems.append(f"{where}{left} of {difference} ns remain without {causes}")
        if 2 * alone <= difference + slack:
            return
        for cause in CAUSES:
            if more[cause] * 20 > difference and 2 * remaining(slower, faster, [cause]) < difference - slack:
                self.problems.append(f"{where}without {cause} alone less than half remains")


def case_of(program, folder, seed, number):
    """Even numbers are simulated. Odd ones have measured times: of these only the terms, where cores are too few."""
    case = Case(program, folder, seed, 2 * number + (number % 8 == 7))
    if case.mode == "simulate":
        case.layers = min(1 + number % 3, case.layers_of_model())
    return case


def main():
    parser = cases.parser("recomputes the reasons that spscope names, from exported events")
    parser.add_argument("--pairs", type=int, default=40)
    given = parser.parse_args()
    failed = pairs = 0
    for more, wrong in cases.run(given, case_of, range(10 * given.pairs)):
        pairs, failed = pairs + more, failed + wrong
        if pairs >= given.pairs:
            break
    print(f"{pairs} pairs, {failed} failed")
    return 1 if failed or pairs < given.pairs else 0


if __name__ == "__main__":
    sys.exit(main())
