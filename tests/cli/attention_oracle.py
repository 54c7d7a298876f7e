"""Block-sparse attention in double precision, from the files of --dump alone: `attention_oracle.py FOLDER TOLERANCE`.

An oracle that shares nothing with the program: it reads the layout that the documentation promises, computes the sum
over the allowed keys in plain Python, and compares every o-*.npy. A row is one token of one head; its error is the sum
of squared differences over the sum of squares of the true row. Prints `ID MAX_ERROR` for each strategy; exit 1 when
one is above the tolerance or when there is nothing to compare. With a third argument N only N rows of each head are
compared, spread over the sequence.
"""
import array
import ast
import math
import struct
import sys
from operator import mul
from pathlib import Path

TYPES = {"<f4": "f", "|u1": "B", "<u1": "B", "<i4": "i", "<i8": "q"}


def read_npy(path):
    """(shape, flat array) of a .npy file in C order."""
    data = path.read_bytes()
    assert data[:6] == b"\x93NUMPY", f"{path} is no .npy file"
    wide = data[6] > 1
    length = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    begin = 12 if wide else 10
    header = ast.literal_eval(data[begin:begin + length].decode("latin1"))
    assert not header["fortran_order"], f"{path} is in Fortran order"
    values = array.array(TYPES[header["descr"]])
    values.frombytes(data[begin + length:])
    assert len(values) == math.prod(header["shape"]), f"{path} does not hold what its header says"
    return header["shape"], values


def rows_of(path):
    """[slices][tokens] -> list of floats; a slice is a head of a sample."""
    shape, values = read_npy(path)
    tokens, dim = shape[-2:]
    rows = [values[i:i + dim].tolist() for i in range(0, len(values), dim)]
    return [rows[i:i + tokens] for i in range(0, len(rows), tokens)]


def allowed_keys(mask, starts, head, blocks):
    """For each query block, the positions that its rows attend to."""
    return [[token for k in range(blocks) if mask[(head * blocks + q) * blocks + k]
             for token in range(starts[k], starts[k + 1])] for q in range(blocks)]


def attend(query, keys, values):
    scale = 1 / math.sqrt(len(query))
    if not keys:
        return [0.0] * len(query)
    scores = [sum(map(mul, query, key)) * scale for key in keys]
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    total = math.fsum(weights)
    return [sum(map(mul, weights, column)) / total for column in zip(*values)]


def row_error(true, found):
    square = sum(map(mul, true, true))
    difference = [a - b for a, b in zip(true, found)]
    error = sum(map(mul, difference, difference))
    return error / square if square > 0 else error


def sequences(tokens, axis_tokens, temporal):
    """Which tokens attend to each other, in order of their place on the attended axis."""
    count = tokens // axis_tokens
    if temporal:
        return [range(first, tokens, count) for first in range(count)]
    return [range(first, first + axis_tokens) for first in range(0, tokens, axis_tokens)]


def check_attention(folder, suffix, limit):
    """id -> largest error of a row, for the attention whose files end in `suffix`."""
    (heads, blocks, _), mask = read_npy(folder / f"mask{suffix}.npy")
    starts = read_npy(folder / f"block_starts{suffix}.npy")[1]
    q, k, v = (rows_of(folder / f"{name}{suffix}.npy") for name in "qkv")
    known = "_temporal"
    outputs = {path.stem[2:]: rows_of(path) for path in sorted(folder.glob("o-*.npy"))
               if path.stem.endswith(known) == (suffix == known)}
    errors = dict.fromkeys(outputs, 0.0)
    for part in range(len(q)):
        allowed = allowed_keys(mask, starts, part % heads, blocks)
        for sequence in sequences(len(q[part]), starts[blocks], suffix == known):
            stride = max(1, len(sequence) // limit) if limit else 1
            for block in range(blocks):
                tokens = [sequence[i] for i in allowed[block]]
                keys, values = [k[part][t] for t in tokens], [v[part][t] for t in tokens]
                for place in range(starts[block], starts[block + 1]):
                    if place % stride:
                        continue
                    true = attend(q[part][sequence[place]], keys, values)
                    for name, output in outputs.items():
                        errors[name] = max(errors[name], row_error(true, output[part][sequence[place]]))
    return errors


def main(folder, tolerance, limit=0):
    failed, compared = False, 0
    for path in sorted(Path(folder).rglob("mask*.npy")):
        for name, error in check_attention(path.parent, path.stem[len("mask"):], int(limit)).items():
            print(f"{name} {error:.6e}")
            failed |= not error <= float(tolerance)
            compared += 1
    return 1 if failed or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
