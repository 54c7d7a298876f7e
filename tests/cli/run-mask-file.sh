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
refused 'SPS-043' 'it has 2 heads, the model has 3' -- run "${fitting[@]}" --set model.heads=3 \
  --set mask.file=files/good.npy -o kept.db
refused 'SPS-043' 'blocks' -- run "${fitting[@]}" --set mask.block=32 --set mask.file=files/good.npy -o kept.db
refused 'SPS-043' 'it has 2 layers, 3 are to run' -- run "${fitting[@]}" --set run.layers=3 \
  --set mask.file=files/good-layers.npy -o kept.db
refused 'SPS-005' 'mask.pattern' -- run "${fitting[@]}" --set mask.file=files/good.npy --set mask.pattern=unused
for file in missing.npy truncated.npy truncated.npz truncated.safetensors object.npy nan.npy huge-dimension.npy \
  overflow.npy two.npy; do
  refused "$file" -- run "${fitting[@]}" --set mask.file=files/$file -o kept.db --dump dump
  refused "$file" 'mask.file' "--set mask.file=files/$file" -- plan "${fitting[@]}" --set mask.file=files/$file
done
