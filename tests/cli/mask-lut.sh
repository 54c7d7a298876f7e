#!/usr/bin/env bash
# Look-up tables of key blocks become the masks that they are, whichever way they are coded; where that is not certain, the
# message names the flag. The commands of docs/masks.md run as they are printed there.
. "$(dirname -- "$0")/common.inc"

python3 -B "$scripts/lut_file.py" .
blocks=(--tokens 48 --block 8)
expect_exit 0 mask import small.npy "${blocks[@]}" -o truth.npy
for flags in 'delta.npz' 'delta.npz --delta yes' 'keys.npz --delta no --array lut' 'named.npz --as lut --counts lengths'; do
  # shellcheck disable=SC2086 # a file and its flags
  expect_exit 0 mask import small-$flags "${blocks[@]}" -o read.npy --force
  cmp -s truth.npy read.npy || fail "small-$flags is not the mask of the lists"
done

# What cannot be certain, and what cannot be.
expect_refused 'SPS-045' 'both.npz' '--delta yes' '--delta no' -- mask info both.npz --as lut "${blocks[@]}"
expect_refused 'SPS-045' 'head 0, query block' '--delta no' -- mask info small-keys.npz --as lut --delta yes "${blocks[@]}"
expect_refused 'SPS-045' 'key block' '--delta yes' -- mask info small-delta.npz --as lut --delta no "${blocks[@]}"
expect_refused 'SPS-040' 'valid_block_num' '--counts' 'lengths' -- mask info small-named.npz --as lut "${blocks[@]}"
expect_refused 'SPS-040' 'np.savez' -- mask info small.npy --as lut "${blocks[@]}"

# Who takes a table for a mask is told, and not how to make a wrong mask of it.
expect_refused 'SPS-045' '--as lut' 'mask.as' -- mask info small-delta.npz --as bits --array lut "${blocks[@]}"
expect_not_err '(mask > 0)'
expect_refused 'mask.as' 'mask.file' -- plan --set mask.as=lut

# docs/masks.md, as printed.
grep -E '^spscope (mask import|run) .*sparge\.npz' "$SOURCE_DIR/docs/masks.md" >commands
[ "$(wc -l <commands)" -eq 2 ] || fail "masks.md has other commands for look-up tables"
while read -r name line; do
  # shellcheck disable=SC2086 # words of a printed command
  expect_exit 0 $line
  [ "$name" = spscope ]
  case $line in
  mask*) expect_out '40 heads, 75600 tokens in 1182 blocks of 64 tokens, the last of 16' 'density 0.301' ;;
  *) expect_out '0.30, 1 of 40 layers' 'is fastest' ;;
  esac
done <commands
