"""The figures of docs/metrics.md that follow from a plan: bytes, tiles, ratios, shares of time, memory, costs."""
import math
from collections import defaultdict

import numpy as np

import schedule
from plan_document import COMMUNICATES

TENSORS = ["q", "k", "v", "o", "hidden", "exchange", "text", "norm", "metadata", "boundary"]
REPORTED_AS = {"q": "q", "k": "k", "v": "v", "o": "o", "stats": "o", "x": "hidden", "f": "hidden", "norm": "norm"}


# -- bytes

def text_tokens(plan):
    w = plan.workload
    first = 0 if w["text_first"] else w["inner_tokens"] - w["text_tokens"]
    return np.arange(first, first + w["text_tokens"])


def traffic(plan):
    """(from, to, reported tensor, bytes) of everything that moves between ranks, from the boxes of messages."""
    replicated = text_tokens(plan) if plan.workload["text"] == "replicate" else np.arange(0)
    for m in plan.messages:
        if m["from"] == m["to"]:
            continue
        post = plan.posts[m["post"]]
        columns, outer, inner = m["box"]
        of_text = len(plan.sets[columns]) * len(plan.sets[outer]) * len(np.intersect1d(plan.sets[inner], replicated))
        element = plan.element_bytes(post["src"]) * plan.batch
        for tensor in plan.values[post["src"]]["tensors"]:
            width = plan.raw["tensor_width"][tensor] * element
            name = "exchange" if post["balances"] else REPORTED_AS[tensor]
            for reported, cells in ((name, plan.cells(m["box"]) - of_text), ("text", of_text)):
                if cells:
                    yield m["from"], m["to"], reported, cells * width


def index_bytes(plan, m):
    """12 bytes for each head and block, or slice of one, of what a receiver asks for by index."""
    post = plan.posts[m["post"]]
    if not post["by_index"] or m["from"] == m["to"]:
        return 0
    axis = "outer" if len(plan.workload["masks"]) == 2 and plan.values[post["src"]]["attention"] % 2 else "inner"
    starts = np.array(next(mask["block_starts"] for mask in plan.workload["masks"] if mask["axis"] == axis))
    slices = next(acc["slices"] for acc in plan.accumulators if acc["axis"] == axis)
    columns, outer, inner = m["box"]
    touched = set()
    for token in plan.sets[outer if axis == "outer" else inner].tolist():
        block = int(np.searchsorted(starts, token, "right")) - 1
        tokens = int(starts[block + 1] - starts[block])
        parts = min(slices, tokens)
        ends = [tokens * (part + 1) // parts for part in range(parts)]
        touched.add((block, next(i for i, end in enumerate(ends) if token - starts[block] < end)))
    return 12 * len(touched) * len(plan.sets[columns])


def bytes_figures(plan):
    sent, intra, inter, received = (np.zeros(plan.ranks, int) for _ in range(4))
    by_tensor = dict.fromkeys(TENSORS, 0)
    for a, b, tensor, moved in traffic(plan):
        sent[a] += moved
        received[b] += moved
        (intra if plan.node(a) == plan.node(b) else inter)[a] += moved
        by_tensor[tensor] += moved
    by_tensor["metadata"] += sum(index_bytes(plan, m) for m in plan.messages)
    return {"bytes_sent": sent.tolist(), "bytes_sent_intra_node": intra.tolist(), "bytes_sent_inter_node": inter.tolist(),
            "bytes_received": received.tolist(), "bytes_by_tensor": by_tensor,
            "messages": sum(m["from"] != m["to"] for m in plan.messages)}


# -- balance

def by_rank(plan, work):
    total = np.zeros(plan.ranks)
    for op in plan.attends():
        total[op["rank"]] += work[op["id"]]
    return total


def held_work(plan, known):
    """Active triples on some masks, {axis: Mask}, of the rows that each rank attends by the placements of its queries:
    what its attends have, if none was left out because it had nothing to do on the mask that the plan was made for."""
    total = np.zeros(plan.ranks)
    for accumulator in plan.accumulators:
        mask, axis = known[accumulator["axis"]], accumulator["axis"]
        for rank, boxes in enumerate(plan.values[accumulator["queries"]]["placement"]):
            for heads, outer, inner in ([plan.sets[s] for s in box] for box in boxes):
                rows, sequences = (inner, outer) if axis == "inner" else (outer, inner)
                total[rank] += sum(mask.keys_of_rows(head)[rows].sum() for head in heads) * len(sequences) * plan.batch
    return total


def uneven(total):
    """Largest over mean."""
    return float(total.max() / total.mean()) if total.any() else 1.0


def barrier_ratio(plan, work, rings, mean):
    """Steps of each attention on its own; rings do not wait for each other."""
    members = [list(ring) for ring in rings]
    members += [[rank] for rank in range(plan.ranks) if not any(rank in ring for ring in members)]
    steps = defaultdict(lambda: np.zeros(plan.ranks))
    for op in plan.attends():
        accumulator = plan.accumulator_of(op)
        attention = plan.values[accumulator["queries"]]["attention"], accumulator["axis"]
        steps[attention, op["ring_step"]][op["rank"]] += work[op["id"]]
    return max(sum(step[ring].max() for step in steps.values()) for ring in members) / mean


def ratios(plan, rings):
    work = [op.get("area", 0) if op["kind"] == "attend" else 0 for op in plan.ops]
    total = by_rank(plan, work)
    mean = total.mean()
    if mean == 0:
        return dict.fromkeys(("imbalance_ratio", "barrier_imbalance_ratio", "coupled_imbalance_ratio"), 1.0)
    times = schedule.schedule(plan, work, schedule.Instant())
    return {"imbalance_ratio": total.max() / mean, "barrier_imbalance_ratio": barrier_ratio(plan, work, rings, mean),
            "coupled_imbalance_ratio": schedule.makespan(times) / mean}


def moved_fraction(plan, rings):
    """Against a split of the tokens of a ring into runs as long as what its ranks attend, in the order of the ranks. Of a
    spatial-temporal layer the attention along frames counts; text that every rank holds is where it was. Ranks that gather
    all keys before they attend are no ring."""
    replicated = set(text_tokens(plan).tolist()) if plan.workload["text"] == "replicate" else set()
    axes = {plan.accumulator_of(op)["axis"] for op in plan.attends()}
    axis = "outer" if "outer" in axes else "inner"
    attended = [set() for _ in range(plan.ranks)]
    for op in plan.attends():
        if plan.accumulator_of(op)["axis"] == axis:
            attended[op["rank"]].update(plan.sets[op["queries"]].tolist())
            attended[op["rank"]] -= replicated
    if all(op["ring_step"] == 0 for op in plan.attends()):
        rings = []
    members = [sorted(ring) for ring in rings]
    members += [[rank] for rank in range(plan.ranks) if not any(rank in ring for ring in members)]
    moved = rows = 0
    for ring in members:
        tokens = sorted(set().union(*(attended[rank] for rank in ring)))
        begin = 0
        for rank in ring:
            home = set(tokens[begin:begin + len(attended[rank])])
            moved += len(attended[rank] - home)
            begin += len(attended[rank])
        rows += begin
    return moved / rows if rows else 0.0


# -- costs

def cost_ns(plan, op):
    cost, kind = plan.cluster["cost"], op["kind"]
    if kind in COMMUNICATES:
        return 0.0
    if kind == "attend":
        slices = plan.accumulator_of(op)["slices"]
        return attention_cost_ns(cost, plan.workload["head_dim"], op["rows"], op["area"], slices) + ring_merge_ns(plan, op)
    if kind == "local" and kernel_of(plan, op)["name"].split(".")[0] == "cross_attention":
        cells = sum(plan.cells(box) for box in plan.values[plan.posts[op["post"]]["src"]]["placement"][op["rank"]]) * plan.batch
        text = plan.workload["context_tokens"]
        attention = attention_cost_ns(cost, plan.workload["head_dim"], cells, cells * text)
        projected = op["flops"] - 4 * cells * text * plan.workload["head_dim"]
        return max(cost["move_ns_per_byte"] * bytes_touched(plan, op), attention + cost["gemm_ns_per_flop"] * projected)
    return max(cost["gemm_ns_per_flop"] * op["flops"],
               cost["move_ns_per_byte"] * passes(plan, op) * bytes_touched(plan, op))


def merges(plan, op):
    """Whether the accumulator of an attend attended in an earlier post."""
    acc = plan.posts[op["post"]]["accumulator"]
    return any(post["kind"] == "attend" and post["accumulator"] == acc for post in plan.posts[:op["post"]])


def ring_merge_ns(plan, op):
    """Reading the result of rows that have attended before, and reading and writing the accumulator."""
    if not merges(plan, op):
        return 0.0
    head_dim, cost = plan.workload["head_dim"], plan.cluster["cost"]
    row = head_dim * {"bf16": 2, "fp32": 4}[plan.workload["dtype"]] + 2 * 4 * (head_dim + 2)
    return cost["ring_merge_passes"] * cost["move_ns_per_byte"] * op["rows"] * row


def kernel_of(plan, op):
    return plan.kernels[plan.posts[op["post"]]["kernel"]]


def attention_cost_ns(cost, head_dim, rows, area, slices=1):
    padded = math.ceil(head_dim / cost["attend_head_dim_multiple"]) * cost["attend_head_dim_multiple"]
    return (cost["attend_ns_per_launch"] + cost["attend_ns_per_row"] * rows +
            cost["attend_ns_per_pair_channel"] * padded * (area + cost["attend_ramp_keys"] * rows) *
            cost["small_tile"] ** math.log2(slices))


def passes(plan, op):
    """How often a kernel moves its bytes where code is not fused."""
    cost = plan.cluster["cost"]
    if op["kind"] == "merge":
        return cost["merge_passes"]
    if op["kind"] != "local":
        return 1
    kernel = kernel_of(plan, op)
    name = kernel["name"].split(".")[0]
    if name in ("rms_rope", "head_rms_rope"):
        return cost["rotary_passes"]
    if name == "cross_attention" or (kernel["contracts"] and kernel["out"] != "stat"):
        return 1
    return cost["elementwise_passes"]


def launches(plan, op):
    """Kernels that the host launches: of code that is not fused one a tensor in each pass."""
    cost, post = plan.cluster["cost"], plan.posts[op["post"]]
    if op["kind"] == "merge":
        return 3 * cost["merge_passes"]
    if op["kind"] == "attend":
        return 1 + (3 * cost["ring_merge_passes"] if merges(plan, op) else 0)
    if op["kind"] != "local":
        return 1
    kernel = kernel_of(plan, op)
    if kernel["name"].split(".")[0] == "cross_attention" or (kernel["contracts"] and kernel["out"] != "stat"):
        return 1
    held = plan.bytes_at(post["src"], op["rank"])
    if not held:
        return 0
    return passes(plan, op) * bytes_touched(plan, op) * len(plan.values[post["src"]]["tensors"]) / held


def issue_ns(plan):
    """When the host of each rank has issued the ops before each of its own."""
    return hosts(plan)[0]


def host_ends(plan):
    """By rank: when its host has issued all of its ops, in whole nanoseconds."""
    ends = hosts(plan)[1]
    return [math.floor(ends[rank] + 0.5) for rank in range(plan.ranks)]


def hosts(plan):
    cost, clocks, times = plan.cluster["cost"], defaultdict(float), []
    for op in plan.ops:
        times.append(clocks[op["rank"]])
        if op["kind"] not in COMMUNICATES:
            clocks[op["rank"]] += cost["host_ns_per_launch"] * launches(plan, op)
        else:
            hop = plan.posts[op["post"]]["collective"] in ("point_to_point", "one_sided")
            clocks[op["rank"]] += cost["host_ns_per_hop" if hop else "host_ns_per_collective"]
    return times, clocks


def channels(plan, value, rank):
    boxes = plan.values[value]["placement"][rank]
    return len(plan.sets[boxes[0][0]]) * plan.width(value) if boxes else 0


def weight_elements(plan, op):
    post = plan.posts[op["post"]]
    kernel = plan.kernels[post["kernel"]]
    if not kernel["contracts"] or kernel["out"] == "stat":
        return 0
    return channels(plan, post["src"], op["rank"]) * channels(plan, post["dst"], op["rank"])


def bytes_touched(plan, op):
    post, rank, kind = plan.posts[op["post"]], op["rank"], op["kind"]
    if kind == "local":
        values = [post["src"], *post["operands"], post["dst"]]
        element = {"bf16": 2, "fp32": 4}[plan.workload["dtype"]]
        return sum(plan.bytes_at(value, rank) for value in values) + weight_elements(plan, op) * element
    if kind == "copy":
        return sum(2 * plan.cells(plan.messages[m]["box"]) * plan.cell_bytes(post["src"]) for m in op["messages"])
    rows = plan.values[plan.accumulator_of(op)["queries"]]["placement"][rank]
    if kind == "finish":
        return sum(map(plan.cells, rows)) * plan.row_bytes() + plan.bytes_at(post["dst"], rank)
    common = sum(math.prod(len(np.intersect1d(plan.sets[a], plan.sets[b])) for a, b in zip(part, mine))
                 for part in plan.values[post["src"]]["placement"][rank] for mine in rows)
    return common * (plan.cell_bytes(post["src"]) + 2 * plan.row_bytes())


def flops(plan, op):
    """2 for each pair of elements of a contraction; of other kernels by the list of kernels."""
    post = plan.posts[op["post"]]
    if op["kind"] == "attend":
        return 4 * op["area"] * plan.workload["head_dim"]
    if op["kind"] != "local":
        return None
    kernel = plan.kernels[post["kernel"]]
    boxes = plan.values[post["src"]]["placement"][op["rank"]]
    if kernel["contracts"]:
        out = channels(plan, post["dst"], op["rank"])
        return sum(2 * plan.cells(box) * plan.width(post["src"]) * out for box in boxes) * plan.batch
    each = kernel["flops_per_cell"] or plan.width(post["src"])
    columns = len(set().union(*(plan.sets[box[0]].tolist() for box in boxes))) if boxes else 0
    return (sum(map(plan.cells, boxes)) * each + columns * kernel["flops_per_column"]) * plan.batch


def parameter_bytes(plan):
    """A rank holds a weight once, however often it uses it."""
    held = defaultdict(int)
    for op in plan.ops:
        if op["kind"] != "local":
            continue
        post = plan.posts[op["post"]]
        kernel = plan.kernels[post["kernel"]]
        elements = weight_elements(plan, op)
        if not kernel["contracts"] and kernel["flops_per_column"] > 0:  # projects text into keys and values
            elements = 2 * channels(plan, post["src"], op["rank"]) * plan.workload["hidden"]
        held[op["rank"], kernel["name"]] = max(held[op["rank"], kernel["name"]], elements)
    return sum(held.values()) * {"bf16": 2, "fp32": 4}[plan.workload["dtype"]]


# -- times

def shares_of_time(plan, times):
    """Compute, wire, late peer and other of each rank: what holds in each stretch between two borders, in this order."""
    total = schedule.makespan(times)
    shares = {name: [] for name in ("compute_ns", "wire_ns", "wait_late_peer_ns", "other_ns", "exposed_comm_ns")}
    for rank in range(plan.ranks):
        spans = {"compute_ns": [], "wire_ns": [], "wait_late_peer_ns": []}
        for op, (post, begin, end) in zip(plan.ops, times):
            if op["rank"] != rank:
                continue
            if op["kind"] in COMMUNICATES:
                spans["wait_late_peer_ns"].append((post, begin))
                spans["wire_ns"].append((begin, end))
            else:
                spans["compute_ns"].append((begin, end))
        borders = sorted({at for list_ in spans.values() for span in list_ for at in span})
        found = dict.fromkeys(spans, 0)
        for a, b in zip(borders, borders[1:]):
            for name, list_ in spans.items():
                if any(begin <= a and b <= end for begin, end in list_):
                    found[name] += b - a
                    break
        for name, length in found.items():
            shares[name].append(length)
        shares["other_ns"].append(total - sum(found.values()))
        shares["exposed_comm_ns"].append(found["wire_ns"] + found["wait_late_peer_ns"])
    return shares


def attention_ns(plan, times):
    of_rank = [0] * plan.ranks
    for op in plan.attends():
        of_rank[op["rank"]] += times[op["id"]][2] - times[op["id"]][1]
    return max(of_rank)


# -- memory

def memory(plan, times):
    """Largest sum of live buffers of each rank. Instants order what happens in one nanosecond: what took time ends
    first (post -1), then ops that take none, by their posts; an op allocates (0) before it releases (1)."""
    sizes = {}
    for value in plan.values:
        if not value["sources"]:
            for rank in range(plan.ranks):
                sizes[("value", value["id"]), rank] = plan.bytes_at(value["id"], rank)
    for accumulator in plan.accumulators:
        for rank in range(plan.ranks):
            rows = plan.cells_at(accumulator["queries"], rank)
            sizes[("rows", accumulator["id"]), rank] = rows * plan.row_bytes()
    born, last = {}, {}
    for op, (post_ns, _, end_ns) in zip(plan.ops, times):
        begin, end = (post_ns, op["post"], 0), (end_ns, -1 if end_ns > post_ns else op["post"], 1)
        for holder, rank, writes in plan.uses(op):
            key = holder, rank
            if writes:
                born[key] = min(born.get(key, begin), begin)
            last[key] = max(last.get(key, end), end)
    kept = {(("value", base), rank) for output in plan.raw["outputs"] for base in plan.bases(output["value"])
            for rank in range(plan.ranks)}
    changes = [[] for _ in range(plan.ranks)]
    start = (-1, -1, 0)
    for key, size in sizes.items():
        if size == 0:
            continue
        holder, rank = key
        given = holder[0] == "value" and plan.values[holder[1]]["given"]
        changes[rank].append((start if given or key not in born else born[key], size))
        if key in last and key not in kept:
            changes[rank].append((last[key], -size))
    peaks = []
    for list_ in changes:
        live = peak = 0
        for _, change in sorted(list_, key=lambda c: c[0]):
            live += change
            peak = max(peak, live)
        peaks.append(peak)
    return peaks
