#!/usr/bin/env bash
# An imported mask keeps its bits; without cuts of its own it is cut as --tokens and --block say.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B "$scripts/bad_arrays.py" .
mkdir target
expect_exit 0 mask import good.npz --tokens 50 --block 16 -o target/mask.npy
expect_out '2 heads, 50 tokens in 4 blocks of 16 tokens, the last of 2'
tail -c 32 good.npy | cmp - <(tail -c 32 target/mask.npy) || fail "the bits changed"
expect_exit 0 mask info target/mask.npy
expect_out '50 tokens'
expect_refused 'SPS-043' '--tokens and --block' -- mask info good.npy --tokens 33 --block 16
expect_refused 'SPS-153' '--force' -- mask import good.npz --tokens 50 --block 16 -o target/mask.npy
expect_exit 0 mask import good.npz --tokens 50 --block 16 -o target/mask.npy --force
expect_exit 0 mask info good.npy
expect_err '64 tokens' '--block'
expect_exit 0 mask info target/mask.npy
expect_not_err '--block'
