"""Layer passes one after the other: docs/metrics.md, "Layers that follow each other"."""
from plan_document import Plan


class Consecutive(Plan):
    """Several plans as one: an op also comes after every op of its rank in the passes before, besides those of its own
    pass, which it `needs`. Ops refer to posts, messages and groups, these to values and sets; nothing else is carried over."""

    def __init__(self, plans):
        first = plans[0]
        self.workload, self.cluster, self.raw = first.workload, first.cluster, first.raw
        self.ranks, self.batch, self.plans = first.ranks, first.batch, plans
        self.posts, self.messages, self.groups, self.values, self.sets, self.ops = [], [], [], [], [], []
        self.kernels, self.accumulators, self.first_op = [], [], []
        by_rank = [[] for _ in range(self.ranks)]
        for plan in plans:
            before = [list(ops) for ops in by_rank]
            self.first_op.append(len(self.ops))
            for op in plan.ops:
                self.ops.append(self.moved(op, before[op["rank"]]))
                by_rank[op["rank"]].append(self.ops[-1]["id"])
            self.posts += [post | {name: post[name] + len(of) for name, of in (
                ("src", self.values), ("kernel", self.kernels), ("accumulator", self.accumulators))
                if post[name] is not None} for post in plan.posts]
            self.accumulators += [a | {"queries": a["queries"] + len(self.values)} for a in plan.accumulators]
            self.messages += [m | {"box": [of + len(self.sets) for of in m["box"]]} for m in plan.messages]
            self.groups += plan.groups
            self.values += plan.values
            self.kernels += plan.kernels
            self.sets += plan.sets
        self.first_op.append(len(self.ops))

    def moved(self, op, before):
        first = self.first_op[-1]
        group = None if op["group"] is None else op["group"] + len(self.groups)
        return op | {"id": first + op["id"], "post": len(self.posts) + op["post"], "group": group,
                     "after": [first + b for b in op["after"]] + before, "needs": [first + b for b in op["after"]],
                     "messages": [len(self.messages) + m for m in op["messages"]]}

    def makespans(self, times):
        """Of each pass: the end of all until then minus that of all before it."""
        ends = [max((end for _, _, end in times[:first]), default=0) for first in self.first_op]
        return [after - before for before, after in zip(ends, ends[1:])]

    def issue_ns(self, host_ends):
        """The host of a rank goes on with the next pass when it has issued the one before. `host_ends(plan)`: by rank,
        when it has issued all of one."""
        at, times = [0] * self.ranks, []
        for plan in self.plans:
            times += [at[op["rank"]] + op.get("issue_ns", 0) for op in plan.ops]
            at = [a + b for a, b in zip(at, host_ends(plan))]
        return times
