#!/usr/bin/env bash
# Masks are generated, written, imported and read again.
. "$(dirname -- "$0")/common.inc"

part generate
# A generated mask is the same every time, other with another seed, layer or step, and reads back as it was written.
request=(mask generate paro --grid "2,6,7" --heads 3 --block 8 --density 0.4)
expect_exit 0 "${request[@]}" -o mask.npy --json
cp "$out" made
expect_files mask.npy mask.block_starts.npy made
expect_exit 0 mask info mask.npy --json
grep -v '"read"' "$out" | cmp - made || fail "the mask does not read back as it was"
expect_exit 0 "${request[@]}" --json
cmp "$out" made || fail "the same request made another mask"
for other in --seed=2 --layer=1 --step=30; do
  expect_exit 0 "${request[@]}" $other --json
  ! cmp -s "$out" made || fail "$other made the same mask"
done
expect_refused 'SPS-153' '--force' -- "${request[@]}" -o mask.npy --seed 2
expect_exit 0 mask info mask.npy --json
grep -v '"read"' "$out" | cmp - made || fail "the refused mask was written"
expect_exit 0 "${request[@]}" -o mask.npy --force
expect_refused '.npy' -- mask generate dense -o mask.txt
expect_exit 0 mask info mask.npy
expect_out '3 heads, 84 tokens in 11 blocks of 8 tokens, the last of 4'
expect_exit 0 mask generate window --grid 1,32,32 --heads 2 --block 16 --set radius=1
expect_out 'heads   ▁▁'

part good-files
# The same mask is read from .npy, .npz and .safetensors.
python3 -B "$scripts/bad_arrays.py" .
for file in good.npy good.npz good.safetensors; do
  expect_exit 0 mask info "$file" --json
  grep -v '"hash"\|"read"' "$out" >"$file.json"
  expect_json 'd["heads"] == 2 and d["blocks"] == 4 and d["active_tiles"] == 20 and d["density"] == 20 / 32'
done
expect_exit 0 mask info good-layers.npy --block 16
expect_out 'if the file has samples of a batch: --axes batch,heads,q,k --batch N takes one, from 0'
expect_exit 0 mask info good-layers.npy --block 16 --axes batch,heads,q,k --batch 1
expect_not_out 'if the file has samples'
cmp good.npy.json good.npz.json && cmp good.npy.json good.safetensors.json

part import
# An imported mask keeps its bits; without cuts of its own it is cut as --tokens and --block say.
python3 -B "$scripts/bad_arrays.py" .
mkdir target
expect_exit 0 mask import good.npz --tokens 50 --block 16 -o target/mask.npy
expect_out '2 heads, 50 tokens in 4 blocks of 16 tokens, the last of 2'
tail -c 32 good.npy | cmp - <(tail -c 32 target/mask.npy) || fail "the bits changed"
expect_exit 0 mask info target/mask.npy
expect_out '50 tokens'
expect_refused 'SPS-043' '--tokens and --block' -- mask info good.npy --tokens 33 --block 16
expect_exit 0 mask info good.npy
expect_err '64 tokens' '--block'
expect_exit 0 mask info target/mask.npy
expect_not_err '--block'

part empty
# Masks without an active block are named, and nothing is fastest on them; a line of many heads stays a line.
PYTHONPATH=$scripts python3 -B -c "import bad_arrays; open('empty.npy', 'wb').write(bad_arrays.npy(\"'|u1'\", '(3, 8, 8)', bytes(3 * 64)))"
for mode in simulate execute; do
  expect_exit 0 run "${small[@]}" --set mask.file=empty.npy --set run.mode=$mode --set cluster.ranks=2 -s ulysses -s ring
  expect_out 'no active block' 'No winner is named'
  expect_not_out 'is fastest'
done

expect_exit 0 mask generate sparge --grid 1,8,8 --heads 20000
[ "$(wc -L <"$out")" -le 200 ] || fail "a line of $(wc -L <"$out") characters"
expect_out '(209 heads a character)'

part cuts-of-folder
# Masks of one folder have cuts of their own: writing one changes no other, and a file of cuts that does not fit is named.
python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 mask info good.npy --block 16 --json
cp "$out" before
for block in 16 32; do
  expect_exit 0 mask generate dense --grid 1,8,8 --block $block -o $block.npy
  [ -e $block.block_starts.npy ] || fail "the cuts of $block.npy are not beside it"
done
for block in 16 32; do
  expect_exit 0 mask info $block.npy
  expect_out "in $((64 / block)) blocks of $block tokens"
done
[ ! -e block_starts.npy ] || fail "the cuts of the whole folder were written"
expect_exit 0 mask info good.npy --block 16 --json
cmp "$out" before || fail "another mask of the folder is read in another way"
fitting=(--set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=8 --set mask.block=16 --set cluster.ranks=2)
expect_exit 0 run "${fitting[@]}" --set mask.file=good.npy -s ring
expect_exit 0 run "${fitting[@]}" --set mask.block=8 --set mask.file=good.npy -s ring
tr '\n' ' ' <"$out" | grep -q 'blocks of 16 x 16 tokens cut into 8 x 8' || fail "run does not say that blocks are cut"

# Folders are made.
expect_exit 0 mask generate dense --grid 1,8,8 --block 16 -o new/er/mask.npy
expect_exit 0 mask info new/er/mask.npy

# Cuts of another sequence beside mask.npy, as a dump may leave them.
cp good.npy mask.npy
expect_exit 0 mask generate dense --grid 1,8,7 --block 16 -o other.npy
cp other.block_starts.npy block_starts.npy
expect_refused 'SPS-043' 'mask.file' '"block_starts.npy"' '56 tokens' '64' -- run "${fitting[@]}" --set mask.file=mask.npy
expect_refused 'SPS-043' '"block_starts.npy"' '--tokens' -- mask info mask.npy --tokens 64
# Its own cuts come before those of the folder.
cp 16.block_starts.npy mask.block_starts.npy
expect_exit 0 mask info mask.npy
expect_out '64 tokens in 4 blocks'
