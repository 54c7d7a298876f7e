"""same_arrays.py FOLDER OTHER NAME...: arrays of float32 in two folders have one shape and nearly equal numbers."""
import array
import sys


def read(path):
    data = open(path, 'rb').read()
    start = 10 + int.from_bytes(data[8:10], 'little')
    numbers = array.array('f')
    numbers.frombytes(data[start:])
    return data[:start], numbers


for name in sys.argv[3:]:
    (form, here), (other_form, there) = (read(f'{folder}/{name}') for folder in sys.argv[1:3])
    squares = sum(x * x for x in here)
    error = sum((x - y) ** 2 for x, y in zip(here, there))
    if form != other_form or not squares > 0 or not error <= 1e-10 * squares:
        sys.exit(f'{name}: squares {squares}, of the difference {error}')
