"""Dumps block masks and activations of a PyTorch program into a file that spscope imports.

    from torch_dump import Dump, flex_block_mask, sparge_lut

    dump = Dump("layer0.safetensors")          # or .npz
    dump.activations(q, k, v)                  # [batch, heads, tokens, head_dim]
    dump.mask(flex_block_mask(block_mask))     # torch.nn.attention.flex_attention.BlockMask
    dump.save()

Only numpy and the standard library are imported: tensors are recognised by their methods (detach, cpu, float), so that the
file also works with arrays and can be tested without PyTorch. Masks of several denoise steps and layers go into one
file with dump.mask(mask, denoise_step=s, layer=l). A file holds the arrays q, k, v [heads, tokens, head_dim], mask
(uint8, [heads, q blocks, k blocks] or [denoise steps, layers, heads, q blocks, k blocks]) and block_starts (int32).
"""
import json
import os
import struct
from typing import NamedTuple

import numpy as np

SAFETENSORS_TYPES = {"uint8": "U8", "int32": "I32", "float16": "F16", "float32": "F32"}
MAX_BLOCK_TOKENS = 384


class Mask(NamedTuple):
    """bits: uint8 [heads, q blocks, k blocks]; block_starts: int32, the tokens where the finer of the two blocks begin,
    and the number of tokens."""
    bits: np.ndarray
    block_starts: np.ndarray


def is_bfloat16(tensor):
    return "bfloat16" in str(getattr(tensor, "dtype", ""))


def to_numpy(tensor):
    """An array of a tensor on any device, or of anything numpy takes; bfloat16 becomes float32."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
        if is_bfloat16(tensor):
            tensor = tensor.float()
        tensor = tensor.numpy()
    return np.asarray(tensor)


def block_starts(tokens, q_block, k_block):
    """Cuts at the finer of the two block sizes, the last block shorter."""
    fine, coarse = sorted((int(q_block), int(k_block)))
    if fine < 1 or coarse % fine:
        raise ValueError(f"blocks of {q_block} queries and {k_block} keys: one must be a multiple of the other")
    if fine > MAX_BLOCK_TOKENS:
        raise ValueError(f"blocks of {fine} tokens: spscope takes at most {MAX_BLOCK_TOKENS}, build the mask with less")
    return np.append(np.arange(0, tokens, fine), tokens).astype(np.int32)


def check_blocks(bits, tokens, q_block, k_block):
    wanted = (-(-tokens // q_block), -(-tokens // k_block))
    if bits.shape[1:] != wanted:
        raise ValueError(f"the mask has {bits.shape[1]} x {bits.shape[2]} blocks, {tokens} tokens in blocks of "
                         f"{q_block} x {k_block} have {wanted[0]} x {wanted[1]}")


def select_batch(array, batch, dimensions):
    """Drops the batch dimension of an array that has one."""
    return array[batch] if array.ndim == dimensions + 1 else array


def set_listed(bits, counts, indices):
    """Activates, in each row, the first `count` blocks of its list."""
    for head, row in np.ndindex(counts.shape):
        count = int(counts[head, row])
        listed = indices[head, row, :count]
        if count > indices.shape[2] or (count and not 0 <= listed.min() <= listed.max() < bits.shape[2]):
            raise ValueError(f"head {head}, query block {row} lists a key block outside 0 to {bits.shape[2] - 1}")
        bits[head, row, listed] = 1


def flex_block_mask(block_mask, heads=None, batch=0):
    """The blocks that a FlexAttention BlockMask computes, full and partial ones alike.

    `heads` repeats a mask made with H=None over that many heads. Queries and keys must have the same length.
    """
    q_block, k_block = block_mask.BLOCK_SIZE
    tokens, keys = getattr(block_mask, "seq_lengths", None) or block_mask.shape[-2:]  # PyTorch before 2.6 has the latter
    if tokens != keys:
        raise ValueError(f"{tokens} queries and {keys} keys: only self-attention has a square mask")
    counts = select_batch(to_numpy(block_mask.kv_num_blocks), batch, 2)
    indices = select_batch(to_numpy(block_mask.kv_indices), batch, 3)
    bits = np.zeros((*counts.shape, -(-tokens // k_block)), np.uint8)
    set_listed(bits, counts, indices)
    if block_mask.full_kv_num_blocks is not None:
        set_listed(bits, select_batch(to_numpy(block_mask.full_kv_num_blocks), batch, 2),
                   select_batch(to_numpy(block_mask.full_kv_indices), batch, 3))
    if heads is not None and len(bits) == 1:
        bits = np.repeat(bits, heads, axis=0)
    check_blocks(bits, tokens, q_block, k_block)
    return Mask(bits, block_starts(tokens, q_block, k_block))


def sparge_lut(lut, valid_block_num, tokens, q_block=128, k_block=64, batch=0):
    """The blocks that SpargeAttn's look-up table names.

    Row by row, `lut` [batch, heads, q blocks, k blocks] holds the distance of each kept key block from the one before
    it (the first from 0); only the first `valid_block_num` [batch, heads, q blocks] entries count. Blocks are 128 x 64
    on most GPUs and 64 x 128 on Hopper.
    """
    counts = select_batch(to_numpy(valid_block_num), batch, 2).astype(np.int64)
    steps = select_batch(to_numpy(lut), batch, 3).astype(np.int64)
    bits = np.zeros(steps.shape, np.uint8)
    check_blocks(bits, tokens, q_block, k_block)
    set_listed(bits, counts, np.cumsum(steps, axis=2))
    return Mask(bits, block_starts(tokens, q_block, k_block))


class Dump:
    """Collects arrays and writes them at once: the file is complete or not there."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.suffix = os.path.splitext(self.path)[1]
        if self.suffix not in (".npz", ".safetensors"):
            raise ValueError(f"{self.path} ends neither in .npz nor in .safetensors")
        self.arrays, self.masks, self.bfloat16 = {}, {}, set()

    def activations(self, q, k, v, batch=0, layout="HND"):
        """[heads, tokens, head_dim] with layout HND, [tokens, heads, head_dim] with NHD; a batch dimension may lead."""
        if layout not in ("HND", "NHD"):
            raise ValueError(f"layout {layout} is neither HND nor NHD")
        for name, tensor in (("q", q), ("k", k), ("v", v)):
            array = select_batch(to_numpy(tensor), batch, 3)
            if array.ndim != 3 or array.dtype.name not in ("float16", "float32"):
                raise ValueError(f"{name} is {array.dtype.name} of shape {array.shape}; it should be [batch, heads, "
                                 "tokens, head_dim] in half or single precision")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} holds NaN or infinity")
            self.arrays[name] = np.ascontiguousarray(array if layout == "HND" else array.transpose(1, 0, 2))
            if is_bfloat16(tensor):
                self.bfloat16.add(name)
        if len({self.arrays[name].shape for name in "qkv"}) > 1:
            raise ValueError("q, k and v differ in shape: repeat the key heads of grouped queries")

    def mask(self, mask, denoise_step=0, layer=0):
        for other in self.masks.values():
            if mask.bits.shape != other.bits.shape or not np.array_equal(mask.block_starts, other.block_starts):
                raise ValueError("the masks of one file have the same heads and blocks")
        self.masks[denoise_step, layer] = mask

    def save(self):
        """Writes the file, then forgets nothing: saving again after more calls replaces it."""
        arrays = dict(self.arrays)
        if self.masks:
            arrays["mask"] = self._stacked()
            arrays["block_starts"] = next(iter(self.masks.values())).block_starts
        if not arrays:
            raise ValueError("nothing to save")
        temporary = f"{self.path}.tmp-{os.getpid()}"
        try:
            with open(temporary, "wb") as file:
                if self.suffix == ".npz":
                    np.savez_compressed(file, **arrays)
                else:
                    self._write_safetensors(file, arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def _stacked(self):
        steps, layers = (sorted({key[i] for key in self.masks}) for i in range(2))
        if steps != list(range(len(steps))) or layers != list(range(len(layers))) or \
                len(self.masks) != len(steps) * len(layers):
            raise ValueError("masks must cover denoise steps and layers from 0 without a gap")
        if len(self.masks) == 1:
            return self.masks[0, 0].bits
        return np.stack([np.stack([self.masks[s, l].bits for l in layers]) for s in steps])

    def _write_safetensors(self, file, arrays):
        header, parts, offset = {}, [], 0
        for name, array in arrays.items():
            kind = "BF16" if name in self.bfloat16 else SAFETENSORS_TYPES[array.dtype.name]
            if kind == "BF16":  # exact: the lower half of each float32 is zero
                array = (array.view(np.uint32) >> 16).astype(np.uint16)
            parts.append(array.tobytes())
            end = offset + len(parts[-1])
            header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, end]}
            offset = end
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        file.write(struct.pack("<Q", len(text)) + text)
        for part in parts:
            file.write(part)
