"""Files that unfold to megabytes, for max-memory.sh: mask.npy, mask.npz and mask.safetensors of 4 MiB, big.npz with arrays
of 2 MiB; with an argument, a text of 8 MB in that store.
"""
import io
import sqlite3
import sys
import zipfile

BITS = bytes([1] + [0] * 1023) * 4096  # [4, 1024, 1024]


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def npz(path, arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", array)


def write(path, data):
    with io.open(path, "wb") as file:
        file.write(data)


def main():
    if len(sys.argv) > 1:
        with sqlite3.connect(sys.argv[1]) as store:
            first = "ordinal = (SELECT min(ordinal) FROM machine_fact)"
            store.execute(f"UPDATE machine_fact SET value = ? WHERE {first}", ["x" * 8_000_000])
        return
    mask = npy("|u1", "(4, 1024, 1024)", BITS)
    write("mask.npy", mask)
    npz("mask.npz", {"mask": mask})
    header = b'{"mask":{"dtype":"U8","shape":[4,1024,1024],"data_offsets":[0,4194304]}}'
    write("mask.safetensors", len(header).to_bytes(8, "little") + header + BITS)
    heads = npy("<f4", "(1, 8, 8192, 8)", bytes(2 << 20))
    npz("big.npz", {"q": heads, "k": heads, "v": heads})


main()
