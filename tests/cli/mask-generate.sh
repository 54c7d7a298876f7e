#!/usr/bin/env bash
# A generated mask is the same every time, other with another seed, layer or step, and reads back as it was written.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

request=(mask generate paro --grid "2,6,7" --heads 3 --block 8 --density 0.4)
expect_exit 0 "${request[@]}" -o mask.npy --json
cp "$out" made
expect_files mask.npy mask.block_starts.npy made
expect_exit 0 mask info mask.npy --json
cmp "$out" made || fail "the mask does not read back as it was"
expect_exit 0 "${request[@]}" --json
cmp "$out" made || fail "the same request made another mask"
for other in '--seed 2' '--layer 1' '--step 30'; do
  # shellcheck disable=SC2086  # a flag and its value
  expect_exit 0 "${request[@]}" $other --json
  ! cmp -s "$out" made || fail "$other made the same mask"
done
expect_exit 2 "${request[@]}" -o mask.npy --seed 2
expect_err 'SPS-153' '--force'
expect_exit 0 mask info mask.npy --json
cmp "$out" made || fail "the refused mask was written"
expect_exit 0 "${request[@]}" -o mask.npy --force
expect_refused '.npy' -- mask generate dense -o mask.txt
expect_exit 0 mask info mask.npy
expect_out '3 heads, 84 tokens in 11 blocks of 8 tokens, the last of 4'
