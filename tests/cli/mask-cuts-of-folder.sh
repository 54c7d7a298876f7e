#!/usr/bin/env bash
# A mask is not written beside the cuts of masks that have other blocks, which would then be read wrong.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 mask generate dense --grid 1,8,8 --block 16 -o first.npy
cp block_starts.npy before
expect_exit 0 mask generate window --grid 1,8,8 --block 16 -o second.npy
expect_exit 1 mask generate dense --grid 1,8,8 --block 32 -o third.npy
expect_err 'SPS-153' 'block_starts.npy' 'another folder'
cmp block_starts.npy before
[ ! -e third.npy ] || fail "the mask was written"
