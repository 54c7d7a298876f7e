"""Block-sparse attention in double precision, from the files of `run --dump` alone.

`attention.py FOLDER TOLERANCE` compares every output of attention below the folder, prints `STRATEGY ERROR` for each
strategy of each layer pass, and exits with 1 when an error is above the tolerance or there is nothing to compare.
"""
import sys
from pathlib import Path

import numpy as np

from masks import Mask

TOLERANCE = {"fp32": 1e-10, "bf16": 5e-5}  # docs/metrics.md, "Check"
LEAST_SHARE_OF_MEAN = 0.01


def read_masks(folder):
    """{axis: Mask} of a dumped layer."""
    found = {}
    for axis, suffix in (("inner", ""), ("outer", "_temporal")):
        if (folder / f"mask{suffix}.npy").exists():
            found[axis] = Mask(np.load(folder / f"mask{suffix}.npy"), np.load(folder / f"block_starts{suffix}.npy"))
    return found


def softmax_attention(q, k, v, active):
    """[rows, dim] of one head of one sequence; rows without an active key are 0."""
    scores = np.where(active, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights @ v, total, out=np.zeros((len(q), v.shape[1])), where=total > 0)


def attention(q, k, v, mask, outer, inner, axis):
    """Arrays [heads, outer x inner tokens, dim] of one sample."""
    shape = q.shape
    q, k, v = (x.astype(np.float64).reshape(shape[0], outer, inner, -1) for x in (q, k, v))
    out = np.zeros(q.shape[:3] + (v.shape[-1],))
    for head in range(shape[0]):
        active = mask.pairs(head)
        if axis == "inner":
            for s in range(outer):
                out[head, s] = softmax_attention(q[head, s], k[head, s], v[head, s], active)
        else:
            for s in range(inner):
                out[head, :, s] = softmax_attention(q[head, :, s], k[head, :, s], v[head, :, s], active)
    return out.reshape(shape[0], outer * inner, -1)


def row_errors(true, found):
    """Squared error of each row over its square, or over a hundredth of the mean square where that is larger. Rows are
    the last axis of the arrays of both lists."""
    squares = np.concatenate([(t ** 2).sum(axis=-1).ravel() for t in true])
    errors = np.concatenate([((f.astype(np.float64) - t) ** 2).sum(axis=-1).ravel() for t, f in zip(true, found)])
    scale = np.maximum(squares, LEAST_SHARE_OF_MEAN * squares.mean())
    return np.divide(errors, scale, out=np.where(errors > 0, np.inf, 0.0), where=scale > 0)


def check(folder, workload, strategies):
    """{strategy: largest error of a row} of a dumped layer of attention; a spatial-temporal one has two attentions."""
    samples = (lambda x: x if workload["batch"] > 1 else x[None])
    true, found = [], {strategy: [] for strategy in strategies}
    for axis, mask in read_masks(folder).items():
        suffix = "" if axis == "inner" else "_temporal"
        q, k, v = (samples(np.load(folder / f"{name}{suffix}.npy")) for name in "qkv")
        true.append(np.stack([attention(*qkv, mask, workload["outer_tokens"], workload["inner_tokens"], axis)
                              for qkv in zip(q, k, v)]))
        for strategy in strategies:
            found[strategy].append(samples(np.load(folder / f"o-{strategy}{suffix}.npy")))
    return {strategy: float(row_errors(true, outputs).max()) for strategy, outputs in found.items()}


def shape_of(folder):
    """The parameters of a dumped layer that `check` needs, from the shapes of its files."""
    q, inner = np.load(folder / "q.npy", mmap_mode="r"), int(np.load(folder / "block_starts.npy")[-1])
    return {"batch": q.shape[0] if q.ndim == 4 else 1, "outer_tokens": q.shape[-2] // inner, "inner_tokens": inner}


def main(folder, tolerance):
    compared, failed = 0, False
    for mask in sorted(Path(folder).rglob("mask.npy")):
        strategies = [path.stem[2:] for path in sorted(mask.parent.glob("o-*.npy")) if not path.stem.endswith("_temporal")]
        for strategy, error in check(mask.parent, shape_of(mask.parent), strategies).items():
            print(f"{strategy} {error:.6e}")
            failed |= not error <= float(tolerance)
            compared += 1
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
