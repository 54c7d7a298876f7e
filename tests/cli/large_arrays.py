"""Files that unfold to megabytes, for max-memory.sh: mask.npy, mask.npz and mask.safetensors of 4 MiB, big.npz with arrays
of 2 MiB; with an argument, a text of 8 MB in that store.
"""
import sqlite3
import sys
from pathlib import Path

from bad_arrays import npy, safetensors, write_npz

BITS = bytes([1] + [0] * 1023) * 4096  # [4, 1024, 1024]


def main():
    if len(sys.argv) > 1:
        with sqlite3.connect(sys.argv[1]) as store:
            first = "ordinal = (SELECT min(ordinal) FROM machine_fact)"
            store.execute(f"UPDATE machine_fact SET value = ? WHERE {first}", ["x" * 8_000_000])
        return
    mask = npy("'|u1'", "(4, 1024, 1024)", BITS)
    Path("mask.npy").write_bytes(mask)
    write_npz(Path("mask.npz"), {"mask.npy": mask})
    Path("mask.safetensors").write_bytes(
        safetensors({"mask": {"dtype": "U8", "shape": [4, 1024, 1024], "data_offsets": [0, len(BITS)]}}, BITS))
    heads = npy("'<f4'", "(1, 8, 8192, 8)", bytes(2 << 20))
    write_npz(Path("big.npz"), {"q.npy": heads, "k.npy": heads, "v.npy": heads})


main()
