#!/usr/bin/env bash
# Activations that are damaged or do not fit the model are refused, all arrays at once, and nothing is written.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

mkdir files
python3 -B "$scripts/bad_arrays.py" files
fitting=(--set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=4 --set mask.block=16 --set cluster.ranks=2)
expect_exit 0 run "${fitting[@]}" --set model.activations=files/good-qkv.safetensors -s ring --json
expect_json 's["ring"]["verify"] == "passed"'
refused() {
  expect_refused "$@"
  [ "$(ls)" = files ] || fail "something was written: $(ls)"
}
refused 'SPS-124' 'array "q"' 'array "k"' 'array "v"' '[2, 64, 4]' '[3, 64, 4]' -- run "${fitting[@]}" \
  --set model.heads=3 --set model.activations=files/good-qkv.safetensors -o kept.db
refused '"v"' -- run "${fitting[@]}" --set model.activations=files/no-v.safetensors -o kept.db
refused 'SPS-045' '"k"' -- run "${fitting[@]}" --set model.activations=files/nan-in-k.safetensors -o kept.db --dump dump
refused 'SPS-041' -- run "${fitting[@]}" --set model.activations=files/qkv-truncated.safetensors -o kept.db
refused 'missing.npz' -- run "${fitting[@]}" --set model.activations=missing.npz -o kept.db
refused 'SPS-04' -- run "${fitting[@]}" --set model.activations=files/object.npz -o kept.db
