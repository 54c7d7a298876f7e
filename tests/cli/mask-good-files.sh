#!/usr/bin/env bash
# The same mask is read from .npy, .npz and .safetensors.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B "$scripts/bad_arrays.py" .
for file in good.npy good.npz good.safetensors; do
  expect_exit 0 mask info "$file" --json
  grep -v '"hash"' "$out" >"$file.json"
  expect_json 'd["heads"] == 2 and d["blocks"] == 4 and d["active_tiles"] == 20 and d["density"] == 20 / 32'
done
cmp good.npy.json good.npz.json && cmp good.npy.json good.safetensors.json
