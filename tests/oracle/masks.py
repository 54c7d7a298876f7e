"""Masks of files by docs/masks.md, and what a plan attends, against a mask: every row of every head meets every active key,
and areas and tiles are counted."""
import zipfile

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

    def density(self):
        """Active pairs of tokens over all pairs, over all heads."""
        return float((self.bits * np.outer(self.sizes, self.sizes)).sum() / self.bits.shape[0] / self.starts[-1] ** 2)

    def keys_of_rows(self, head):
        """Active keys of each query."""
        return (self.bits[head] * self.sizes).sum(axis=1)[self.block_of]

    def active_rows(self):
        """(head, query) pairs with an active key."""
        return int((self.bits.any(axis=2) * self.sizes).sum())


def read_arrays(path):
    """The mask and the block borders of a file, or beside it; None where it has no borders."""
    if zipfile.is_zipfile(path):
        with np.load(path) as file:
            return file["mask"], file["block_starts"] if "block_starts" in file else None
    for beside in (path.with_suffix(".block_starts.npy"), path.with_name("block_starts.npy")):
        if beside.exists():
            return np.load(path), np.load(beside)
    return np.load(path), None


def expanded(bits, axis, blocks):
    """Rows or columns that stand for several blocks, once for each of them."""
    return np.repeat(bits, -(-blocks // bits.shape[axis]), axis=axis).take(np.arange(blocks), axis=axis)


def mask_of_file(path, block, tokens, cut, denoise_step, layer):
    """The mask of a layer pass. Without borders of its own a file has blocks of `block` tokens, the last one shorter.
    Blocks are cut at token `cut`, unless it is None: where replicated text and video are held apart."""
    bits, starts = read_arrays(path)
    bits = bits.reshape((1,) * (5 - bits.ndim) + bits.shape)
    bits = bits[min(denoise_step, len(bits) - 1)]
    bits = bits[min(layer, len(bits) - 1)]
    starts = np.array([*range(0, tokens, block), tokens]) if starts is None else np.asarray(starts)
    blocks = len(starts) - 1
    bits = expanded(expanded(bits, 1, blocks), 2, blocks)
    if cut is not None and cut not in starts:
        split = int(np.searchsorted(starts, cut)) - 1  # the block that has both
        bits = bits.repeat(np.where(np.arange(blocks) == split, 2, 1), axis=1)
        bits = bits.repeat(np.where(np.arange(blocks) == split, 2, 1), axis=2)
        starts = np.insert(starts, split + 1, cut)
    return Mask(bits, starts)


def changes(path):
    """Whether a file has a mask for each denoise step."""
    shape = read_arrays(path)[0].shape
    return len(shape) == 5 and shape[0] > 1


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
