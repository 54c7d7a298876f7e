"""Array files that a mask cannot be read from, written byte by byte: `bad_arrays.py FOLDER`.

Good ones, good*, of 2 heads x 4 x 4 blocks, are there too, so that a test can prove that only the fault is refused.
"""
import json
import struct
import sys
import zipfile
from pathlib import Path

HEADS, BLOCKS = 2, 4
BITS = bytes((head + q + k) % 2 or q == k for head in range(HEADS) for q in range(BLOCKS) for k in range(BLOCKS))
SHAPE = f"({HEADS}, {BLOCKS}, {BLOCKS})"
ROWS = HEADS * 64
ONE, NAN, TWO_TO_40 = struct.pack("<f", 1), struct.pack("<f", float("nan")), 1 << 40


def npy(descr, shape, data):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode("latin1") + data


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def activations(values, names="qkv"):
    """Tensors of 2 heads x 64 tokens x 4 channels, one of `values` for each name."""
    size, header, data = 4 * ROWS * 4, {}, b""
    for name, value in zip(names, values):
        header[name] = {"dtype": "F32", "shape": [HEADS, 64, 4], "data_offsets": [len(data), len(data) + size]}
        data += value + b"".join(struct.pack("<f", (i * 37 % 101) / 101) for i in range(1, ROWS * 4))
    return safetensors(header, data)


GOOD = npy("'|u1'", SHAPE, BITS)
EMPTY_ROW = bytes(0 if i // BLOCKS == BLOCKS + 2 else bit for i, bit in enumerate(BITS))  # block 2 of head 1
FILES = {
    "good.npy": GOOD,
    "good-layers.npy": npy("'|u1'", f"(2, {HEADS}, {BLOCKS}, {BLOCKS})", BITS + BITS),
    "good-qkv.safetensors": activations([ONE, ONE, ONE]),
    "good-empty-row.npy": npy("'|u1'", SHAPE, EMPTY_ROW),
    "good.safetensors": safetensors({"mask": {"dtype": "U8", "shape": [HEADS, BLOCKS, BLOCKS], "data_offsets": [0, len(BITS)]}}, BITS),
    "truncated.npy": GOOD[:-5],
    "object.npy": npy("'|O'", SHAPE, b"\x80\x04K\x01." * 32),
    "nan.npy": npy("'<f4'", SHAPE, NAN + ONE * (len(BITS) - 1)),
    "two.npy": npy("'|u1'", SHAPE, b"\x02" + BITS[1:]),
    "huge-dimension.npy": npy("'|u1'", f"({TWO_TO_40}, 4, 4)", BITS),
    "one-dimension.npy": npy("'|u1'", "(32,)", BITS),
    "no-v.safetensors": activations([ONE, ONE], "qk"),
    "nan-in-k.safetensors": activations([ONE, NAN, ONE]),
    "qkv-truncated.safetensors": activations([ONE, ONE, ONE])[:-1],
}


def write_npz(path, members, cut=0):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    if cut:
        path.write_bytes(path.read_bytes()[:-cut])


def main(folder):
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    write_npz(folder / "good.npz", {"mask.npy": GOOD})
    write_npz(folder / "two-arrays.npz", {"one.npy": GOOD, "other.npy": GOOD})
    write_npz(folder / "truncated.npz", {"mask.npy": GOOD}, cut=30)
    write_npz(folder / "object.npz", {"mask.npy": FILES["object.npy"]})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
