"""The numbers that replace weights, drawn again from the seed by schemas/dump.md, "Seeded numbers", and compared with the
files of `run --dump`: `differences(FOLDER, SEED, DTYPE)` of its folder `weights`."""
import numpy as np

GOLDEN = 0x9e3779b97f4a7c15
WORD = (1 << 64) - 1
SCALE, SHIFT, GATE, NORM = range(4)
Q, KV, X = 1, 6, 32
# Logarithm and cosine of another library may differ in the last bit, and with it the rounding.
LAST_BIT = {"fp32": 2.0 ** -22, "bf16": 2.0 ** -7}


def mix(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & WORD
    z = (z ^ z >> 27) * 0x94d049bb133111eb & WORD
    return z ^ z >> 31


def join(h, v):
    return mix(((h ^ v) + GOLDEN + (h << 6 & WORD)) & WORD)


def normals(seed, name, part, count):
    key = join(part, len(name))
    for byte in name.encode():
        key = join(key, byte)
    state = mix(seed) ^ mix((key * GOLDEN + 1) & WORD)
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.arange(1, 2 * count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94d049bb133111eb)
        z ^= z >> np.uint64(31)
    uniform = (z >> np.uint64(11)).astype(np.float64) * 2.0 ** -53
    return np.sqrt(-2 * np.log(1 - uniform[0::2])) * np.cos(2 * np.pi * uniform[1::2])


def rounded(numbers, dtype):
    """As floats, or rounded to the nearest bf16, ties to even."""
    floats = numbers.astype(np.float32)
    if dtype == "bf16":
        bits = floats.view(np.uint32)
        floats = ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)
    return floats.astype(np.float64)


def vector(name, seed, count):
    """A parameter of one number for each channel, by the name of its file."""
    kernel, _, last = name.rpartition(".")
    which, tensors = {"scale": (SCALE, X), "shift": (SHIFT, X), "q": (NORM, Q), "k": (NORM, KV)}.get(last, (GATE, X))
    if which == GATE:
        kernel = name
    normal = normals(seed, kernel, 1 + (which << 16) + tensors, count)
    return {SCALE: normal / 4, SHIFT: normal / 4, GATE: normal, NORM: 1.25 + normal / 4}[which]


def parameter(name, seed, shape, dtype):
    count = int(np.prod(shape))
    if len(shape) == 1:
        numbers = vector(name, seed, count)
    else:
        numbers = normals(seed, name, 0, count) * (1 if name == "text" else 1 / np.sqrt(shape[0]))
    return rounded(numbers, dtype).reshape(shape)


def differences(folder, seed, dtype):
    """Names of the weights that are not those of the seed."""
    found = []
    for path in sorted(folder.glob("*.npy")):
        held = np.load(path).astype(np.float64)
        if not np.allclose(held, parameter(path.stem, seed, held.shape, dtype), rtol=LAST_BIT[dtype], atol=1e-9):
            found.append(path.stem)
    return found
