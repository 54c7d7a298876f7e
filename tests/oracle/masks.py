"""What a plan attends, against a mask: every row of every head meets every active key, and areas and tiles are counted."""
import numpy as np


class Mask:
    """bits [heads, blocks, blocks] with the borders of the blocks."""
    def __init__(self, bits, starts):
        self.bits, self.starts = bits.astype(bool), np.asarray(starts)
        self.sizes = np.diff(self.starts)
        self.block_of = np.repeat(np.arange(len(self.sizes)), self.sizes)

    def pairs(self, head):
        """[queries, keys] of tokens."""
        return self.bits[head][np.ix_(self.block_of, self.block_of)]

    def active_rows(self):
        """(head, query) pairs with an active key."""
        return int((self.bits.any(axis=2) * self.sizes).sum())


def axis_of(plan, op):
    return plan.accumulator_of(op)["axis"]


def attended(plan, axis, mask):
    """Checks each attend on an axis; returns problems, active rows and tiles: of each rank, and of the whole mask once.

    Tiles of the mask that an op attends in part count by area."""
    w = plan.workload
    sequences = w["outer_tokens"] if axis == "inner" else w["inner_tokens"]
    tokens = len(mask.block_of)
    met = np.zeros((w["heads"], sequences, tokens, tokens), np.uint8)
    pairs = [mask.pairs(head) for head in range(w["heads"])]
    share = 1 / np.outer(mask.sizes, mask.sizes)[np.ix_(mask.block_of, mask.block_of)]
    tiles_of_rank, problems = np.zeros(plan.ranks), []
    for op in plan.attends():
        if axis_of(plan, op) != axis:
            continue
        heads, seq, q, k = (plan.sets[op[name]] for name in ("heads", "sequences", "queries", "keys"))
        met[np.ix_(heads, seq, q, k)] += 1
        times = len(seq) * plan.batch
        area = sum(int(pairs[head][np.ix_(q, k)].sum()) for head in heads) * times
        if area != op["area"]:
            problems.append(f"op {op['id']}: area {op['area']}, the mask has {area}")
        if len(heads) * len(q) * times != op["rows"]:
            problems.append(f"op {op['id']}: {op['rows']} rows, its sets have {len(heads) * len(q) * times}")
        tiles = sum((pairs[head][np.ix_(q, k)] * share[np.ix_(q, k)]).sum() for head in heads) * times
        tiles_of_rank[op["rank"]] += tiles
        if plan.accumulator_of(op)["slices"] == 1 and round(tiles) != op["tiles"]:
            problems.append(f"op {op['id']}: {op['tiles']} tiles, the mask has {tiles}")
    replicated = w["text"] == "replicate" and w["text_tokens"] > 0
    for head in range(w["heads"]):
        active = pairs[head]
        counts = met[head]
        least = np.where(active, counts, 255).min(axis=-1)
        most = np.where(active, counts, 0).max(axis=-1)
        rows = active.any(axis=-1)
        if (least[:, rows] == 0).any():
            problems.append(f"head {head}: a row misses an active key")
        elif (least[:, rows] != most[:, rows]).any() or (not replicated and (most[:, rows] > 1).any()):
            problems.append(f"head {head}: a row meets active keys more often than others, or more than once")
    once = mask.bits.sum() * sequences * plan.batch
    return problems, tiles_of_rank, float(once)
