"""samples/torch_dump.py with stand-ins for tensors and for FlexAttention's BlockMask; needs numpy, not PyTorch."""
import json
import os
import pathlib
import struct
import sys
import tempfile
import types
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing (package python3-numpy)")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "samples"))
from torch_dump import Dump, Mask, flex_block_mask, sparge_lut  # noqa: E402


class Tensor:
    """What torch_dump needs of a tensor; like a real one, a bfloat16 tensor has no numpy form."""

    def __init__(self, array, dtype=None):
        self.array, self.dtype = np.asarray(array), dtype or f"torch.{np.asarray(array).dtype.name}"

    def detach(self):
        return self

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.array.astype(np.float32))

    def numpy(self):
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array


def lists_of(bits):
    """Counts and indices [heads, q, k] of a mask, with rubbish behind the counts as FlexAttention leaves it."""
    counts = bits.sum(axis=2).astype(np.int32)
    indices = np.full(bits.shape, 99, np.int32)
    for head, row in np.ndindex(counts.shape):
        kept = np.nonzero(bits[head, row])[0]
        indices[head, row, :len(kept)] = kept[::-1]  # any order
    return counts, indices


def fake_block_mask(partial, full, block, tokens):
    counts, indices = lists_of(partial)
    result = types.SimpleNamespace(BLOCK_SIZE=block, seq_lengths=(tokens, tokens), kv_num_blocks=Tensor(counts[None]),
                                   kv_indices=Tensor(indices[None]), full_kv_num_blocks=None, full_kv_indices=None)
    if full is not None:
        counts, indices = lists_of(full)
        result.full_kv_num_blocks, result.full_kv_indices = Tensor(counts[None]), Tensor(indices[None])
    return result


def read_safetensors(path):
    content = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    kinds = {"U8": np.uint8, "I32": np.int32, "F16": np.float16, "F32": np.float32, "BF16": np.uint16}
    arrays = {}
    for name, row in json.loads(content[8:8 + length]).items():
        begin, end = row["data_offsets"]
        data = np.frombuffer(content[8 + length:][begin:end], kinds[row["dtype"]])
        arrays[name] = (row["dtype"], data.reshape(row["shape"]))
    return arrays


class FlexBlockMask(unittest.TestCase):
    def setUp(self):
        random = np.random.RandomState(1)
        self.partial = random.randint(0, 2, (3, 5, 5))
        self.full = random.randint(0, 2, (3, 5, 5)) * (1 - self.partial)

    def test_full_and_partial_blocks_are_active(self):
        mask = flex_block_mask(fake_block_mask(self.partial, self.full, (128, 128), 600))
        np.testing.assert_array_equal(mask.bits, self.partial + self.full)
        np.testing.assert_array_equal(mask.block_starts, [0, 128, 256, 384, 512, 600])
        self.assertEqual((mask.bits.dtype, mask.block_starts.dtype), (np.uint8, np.int32))
        # One head is repeated; there may be no full blocks.
        mask = flex_block_mask(fake_block_mask(self.partial[:1], None, (128, 128), 640), heads=4)
        np.testing.assert_array_equal(mask.bits, np.repeat(self.partial[:1], 4, axis=0))

    def test_lengths_and_sizes_that_do_not_fit_are_refused(self):
        other = fake_block_mask(self.partial, None, (128, 128), 640)
        other.seq_lengths = (640, 600)
        for bad in (other, fake_block_mask(self.partial, None, (128, 128), 641),
                    fake_block_mask(self.partial, None, (128, 96), 480),
                    fake_block_mask(self.partial, None, (512, 512), 2560)):
            with self.assertRaises(ValueError):
                flex_block_mask(bad)


class SpargeLut(unittest.TestCase):
    def test_distances_are_summed_up_to_the_count(self):
        bits = np.random.RandomState(2).randint(0, 2, (2, 5, 10)).astype(np.uint8)
        lut, counts = np.full((1, 2, 5, 10), 77, np.int32), bits.sum(axis=2)[None]  # rubbish behind the counts
        for head, row in np.ndindex(2, 5):
            kept = np.nonzero(bits[head, row])[0]
            lut[0, head, row, :len(kept)] = np.diff(kept, prepend=0)
        for mask in (sparge_lut(lut, counts, tokens=601), sparge_lut(Tensor(lut), Tensor(counts), tokens=601)):
            np.testing.assert_array_equal(mask.bits, bits)
            np.testing.assert_array_equal(mask.block_starts, [*range(0, 601, 64), 601])

    def test_blocks_outside_the_row_are_refused(self):
        with self.assertRaisesRegex(ValueError, "head 0, query block 0"):
            sparge_lut(np.full((1, 1, 4), 2), np.array([[3]]), tokens=128, q_block=128, k_block=32)
        with self.assertRaisesRegex(ValueError, "1 x 4 blocks"):
            sparge_lut(np.zeros((1, 1, 4), int), np.array([[1]]), tokens=128)


class DumpFile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_activations_keep_their_precision(self):
        values = np.array([1.0, -2.5, 0.15625, 3.0], np.float32).reshape(1, 2, 2, 1)
        dump = Dump(self.path("a.safetensors"))
        dump.activations(Tensor(values, "torch.bfloat16"), Tensor(values.astype(np.float16)), Tensor(values))
        dump.save()
        arrays = read_safetensors(self.path("a.safetensors"))
        self.assertEqual([arrays[name][0] for name in "qkv"], ["BF16", "F16", "F32"])
        restored = (arrays["q"][1].astype(np.uint32) << 16).view(np.float32)
        for array in (restored, arrays["k"][1], arrays["v"][1]):
            np.testing.assert_array_equal(array, values[0])

    def test_layout_nhd_is_turned(self):
        values = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)  # tokens, heads
        dump = Dump(self.path("a.npz"))
        dump.activations(values, values, values, layout="NHD")
        dump.save()
        np.testing.assert_array_equal(np.load(self.path("a.npz"))["q"], values[0].transpose(1, 0, 2))

    def test_one_mask_has_three_dimensions_several_have_five(self):
        masks = {key: Mask(np.full((1, 2, 2), sum(key) % 2, np.uint8), np.array([0, 64, 100], np.int32))
                 for key in np.ndindex(2, 3)}
        dump = Dump(self.path("m.npz"))
        dump.mask(masks[0, 0])
        dump.save()
        self.assertEqual(np.load(self.path("m.npz"))["mask"].shape, (1, 2, 2))
        for (step, layer), mask in masks.items():
            dump.mask(mask, denoise_step=step, layer=layer)
        dump.save()
        stored = np.load(self.path("m.npz"))
        self.assertEqual(stored["mask"].shape, (2, 3, 1, 2, 2))
        for (step, layer), mask in masks.items():
            np.testing.assert_array_equal(stored["mask"][step, layer], mask.bits)
        np.testing.assert_array_equal(stored["block_starts"], [0, 64, 100])

    def test_wrong_use_is_refused_and_leaves_no_file(self):
        good = np.zeros((1, 2, 4, 8), np.float32)
        mask = Mask(np.zeros((1, 1, 1), np.uint8), np.array([0, 64], np.int32))
        bad = good.copy()
        bad[0, 0, 0, 0] = np.nan
        dump = Dump(self.path("a.npz"))
        for call in (lambda: Dump("a.pt"), dump.save, lambda: dump.activations(bad, good, good),
                     lambda: dump.activations(good, good, good[:, :1]),
                     lambda: dump.activations(good, good, good, layout="X"),
                     lambda: dump.activations(good.astype(int), good, good)):
            with self.assertRaises(ValueError):
                call()
        dump.mask(mask, layer=1)
        with self.assertRaisesRegex(ValueError, "without a gap"):
            dump.save()
        with self.assertRaisesRegex(ValueError, "same heads and blocks"):
            dump.mask(Mask(np.zeros((2, 1, 1), np.uint8), mask.block_starts))
        self.assertEqual(os.listdir(self.folder.name), [])


if __name__ == "__main__":
    unittest.main()
