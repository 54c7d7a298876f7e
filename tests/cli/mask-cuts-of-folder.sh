#!/usr/bin/env bash
# Masks of one folder have cuts of their own: writing one changes no other, and a file of cuts that does not fit is named.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 mask info good.npy --block 16 --json
cp "$out" before
expect_exit 0 mask generate dense --grid 1,8,8 --block 16 -o first.npy
expect_exit 0 mask generate dense --grid 1,8,8 --block 32 -o second.npy
for name in first second; do [ -e $name.block_starts.npy ] || fail "the cuts of $name are not beside it"; done
[ ! -e block_starts.npy ] || fail "the cuts of the whole folder were written"
expect_exit 0 mask info first.npy
expect_out 'in 4 blocks of 16 tokens'
expect_exit 0 mask info second.npy
expect_out 'in 2 blocks of 32 tokens'
expect_exit 0 mask info good.npy --block 16 --json
cmp "$out" before || fail "another mask of the folder is read in another way"
fitting=(--set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=8 --set mask.block=16 --set cluster.ranks=2)
expect_exit 0 run "${fitting[@]}" --set mask.file=good.npy -s ring

# Folders are made.
expect_exit 0 mask generate dense --grid 1,8,8 --block 16 -o new/er/mask.npy
expect_exit 0 mask info new/er/mask.npy

# Cuts of another sequence beside mask.npy, as a dump may leave them.
cp good.npy mask.npy
expect_exit 0 mask generate dense --grid 1,8,7 --block 16 -o other.npy
cp other.block_starts.npy block_starts.npy
expect_refused 'SPS-043' 'mask.file' '"block_starts.npy"' '56 tokens' '64' -- run "${fitting[@]}" --set mask.file=mask.npy
expect_refused 'SPS-043' '"block_starts.npy"' '--tokens' -- mask info mask.npy --tokens 64
