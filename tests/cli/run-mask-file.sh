#!/usr/bin/env bash
# A mask file that does not fit the run is refused before anything is written: wrong heads, blocks, layers, steps, or
# damaged.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

mkdir files
python3 -B "$scripts/bad_arrays.py" files
fitting=(--set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=8 --set mask.block=16 --set cluster.ranks=2)
expect_exit 0 run "${fitting[@]}" --set mask.file=files/good.npy -s ring
refused() {
  expect_refused "$@"
  [ "$(ls)" = files ] || fail "something was written: $(ls)"
}
refused 'SPS-043' '2 heads' 'has 3' -- run "${fitting[@]}" --set model.heads=3 \
  --set mask.file=files/good.npy -o kept.db
refused 'SPS-043' 'blocks' -- run "${fitting[@]}" --set mask.block=32 --set mask.file=files/good.npy -o kept.db
refused 'SPS-043' '2 layers' '3 are' -- run "${fitting[@]}" --set run.layers=3 \
  --set mask.file=files/good-layers.npy -o kept.db
refused 'SPS-005' 'mask.pattern' -- run "${fitting[@]}" --set mask.file=files/good.npy --set mask.pattern=unused
# What a file makes unused is not taken without a word, unless the file replaces the mask of a config.
refused 'SPS-006' 'mask.density' '--> --set mask.density=0.9' 'mask.file' \
  -- plan "${fitting[@]}" --set mask.file=files/good.npy --set mask.density=0.9
lines files/both.toml '[mask]' 'pattern = "window"' 'file = "good.npy"' 'seed = 3'
refused 'SPS-006' 'both.toml:2' 'mask.pattern' 'both.toml:4' 'mask.seed' -- plan files/both.toml "${fitting[@]}"
lines files/window.toml '[mask]' 'pattern = "window"' 'density = 0.4'
expect_exit 0 plan files/window.toml "${fitting[@]}" --set mask.file=files/good.npy
lines files/file.toml '[mask]' 'file = "good.npy"'
refused 'SPS-006' '--> --set mask.density=0.9' 'add --set mask.file=' \
  -- plan files/file.toml "${fitting[@]}" --set mask.density=0.9
expect_exit 0 plan files/file.toml "${fitting[@]}" --set mask.density=0.9 --set mask.file=
for file in missing.npy truncated.npy truncated.npz truncated.safetensors object.npy nan.npy huge-dimension.npy \
  overflow.npy two.npy; do
  refused "$file" -- run "${fitting[@]}" --set mask.file=files/$file -o kept.db --dump dump
  refused "$file" 'mask.file' "--set mask.file=files/$file" -- plan "${fitting[@]}" --set mask.file=files/$file
done
