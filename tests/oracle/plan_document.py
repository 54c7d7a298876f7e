"""The document of `plan --ops --json` (schemas/plan_ops.md) with what every check needs of it: sets as arrays of indices, the
cells of boxes, and by which rank and value an op reads and writes."""
import numpy as np

COMMUNICATES = {"exchange", "pull", "push", "reduce", "barrier"}
TWO_SIDED_WITH_DATA = {"exchange", "reduce"}


class Plan:
    def __init__(self, document, plan):
        self.workload, self.cluster, self.raw = document["workload"], document["cluster"], plan
        self.ranks, self.ops, self.messages = plan["ranks"], plan["ops"], plan["messages"]
        self.values, self.posts, self.kernels = plan["values"], plan["posts"], plan["kernels"]
        self.accumulators, self.groups = plan["accumulators"], plan["groups"]
        self.sets = [np.concatenate([np.arange(a, b) for a, b in spans]) if spans else np.arange(0)
                     for spans in plan["sets"]]
        self.batch = self.workload["batch"]

    def node(self, rank):
        return self.cluster["node_of_rank"][rank]

    def cells(self, box):
        columns, outer, inner = box
        return len(self.sets[columns]) * len(self.sets[outer]) * len(self.sets[inner])

    def cells_at(self, value, rank):
        return sum(self.cells(box) for box in self.values[value]["placement"][rank])

    def width(self, value):
        return sum(self.raw["tensor_width"][t] for t in self.values[value]["tensors"])

    def element_bytes(self, value):
        """4 for unfinished rows and norm statistics, else the run's dtype."""
        v = self.values[value]
        if v["partial"] is not None or "norm" in v["tensors"]:
            return 4
        return {"bf16": 2, "fp32": 4}[self.workload["dtype"]]

    def cell_bytes(self, value):
        return self.width(value) * self.element_bytes(value) * self.batch

    def row_bytes(self):
        """A row of an accumulator: output, maximum and sum in fp32."""
        return (self.workload["head_dim"] + 2) * 4 * self.batch

    def bytes_at(self, value, rank):
        return self.cells_at(value, rank) * self.cell_bytes(value)

    def bases(self, value):
        """A value itself, or what it is a view of."""
        sources = self.values[value]["sources"]
        return [base for source in sources for base in self.bases(source)] if sources else [value]

    def attends(self):
        return [op for op in self.ops if op["kind"] == "attend"]

    def accumulator_of(self, op):
        return self.accumulators[self.posts[op["post"]]["accumulator"]]

    def uses(self, op):
        """(holder, rank, writes) of all that an op touches; a holder is ("value", id) or ("rows", accumulator)."""
        post, rank, kind = self.posts[op["post"]], op["rank"], op["kind"]
        reads = []
        if kind == "local":
            reads = [(rank, value) for value in [post["src"], *post["operands"]]]
        elif kind == "attend":
            reads = [(rank, self.accumulator_of(op)["queries"]), (rank, post["src"])]
        elif kind == "merge":
            reads = [(rank, post["src"])]
        elif kind == "finish":
            reads = [(rank, self.accumulator_of(op)["queries"])]
        writes = {rank} if post["dst"] is not None else set()
        if kind in ("copy", "exchange", "pull", "push", "reduce"):
            sent = [self.messages[m] for m in op["messages"]]
            starter = "to" if kind == "pull" else "from"
            own = (post["operands"] or [post["src"]])[0] if kind == "reduce" else post["src"]  # of a share that stays
            reads = [(m["from"], own if m["from"] == m["to"] else post["src"]) for m in sent if m[starter] == rank]
            if kind != "reduce":
                writes = {m["to"] for m in sent if kind != "exchange" or m["to"] == rank}
        for at, value in reads:
            yield from ((("value", base), at, False) for base in self.bases(value))
        yield from ((("value", post["dst"]), at, True) for at in writes)
        if post["accumulator"] is not None:
            yield ("rows", post["accumulator"]), rank, True
