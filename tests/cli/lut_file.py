"""Writes look-up tables of key blocks as .npz, without numpy. Usage: lut_file.py FOLDER

sparge.npz: as SpargeAttn's at Wan2.1-14B's 75,600 tokens, [1, 40, 591, 1182] with blocks of 128 x 64, delta-coded.
small-*.npz: 2 heads of 3 x 6 blocks; small.npy is their mask.
"""
import struct
import sys
from itertools import accumulate
from pathlib import Path

from bad_arrays import npy, write_npz


def ints(values):
    return struct.pack(f"<{len(values)}i", *values)


def save(path, **arrays):
    write_npz(path, {f"{name}.npy": npy("'<i4'", shape, data) for name, (shape, data) in arrays.items()})


def of_wan(path):
    heads, queries, keys, kept = 40, 591, 1182, 355
    row = ints(([0] + [3, 3, 4] * 200)[:kept] + [-9] * (keys - kept))
    save(path, lut=((1, heads, queries, keys), row * (heads * queries)),
         valid_block_num=((1, heads, queries), ints([kept]) * (heads * queries)))


def of_rows(path, rows, slots, delta=False, counts_name="valid_block_num"):
    """rows: [heads][q blocks] lists of key blocks; slots behind a list hold 99."""
    table, counts = [], []
    for head in rows:
        for keys in head:
            entries = [b - a for a, b in zip([0] + keys, keys)] if delta else keys
            assert not delta or list(accumulate(entries)) == keys
            table += entries + [99] * (slots - len(keys))
            counts.append(len(keys))
    shape = (len(rows), len(rows[0]), slots)
    save(path, lut=(shape, ints(table)), **{counts_name: (shape[:2], ints(counts))})


def main(folder):
    of_wan(folder / "sparge.npz")
    rows = [[[0, 1, 5], [2, 3, 4, 5], []], [[1], [0, 4, 5], [3, 4, 5]]]
    of_rows(folder / "small-delta.npz", rows, 6, delta=True)
    of_rows(folder / "small-keys.npz", rows, 6)
    of_rows(folder / "small-named.npz", rows, 6, delta=True, counts_name="lengths")
    of_rows(folder / "both.npz", [[[1, 2], [0, 2], [1]]], 6)
    bits = bytes(int(key in keys) for head in rows for keys in head for key in range(6))
    (folder / "small.npy").write_bytes(npy("'|u1'", (2, 3, 6), bits))


main(Path(sys.argv[1]))
