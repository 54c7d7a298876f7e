#!/usr/bin/env bash
# Truncated, mistyped, oversized and otherwise damaged mask files are refused: exit 2, the file and the fault are named,
# and import writes nothing.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B "$scripts/bad_arrays.py" .
mkdir target
bad=0
for file in *.npy *.npz *.safetensors; do
  case $file in good*) continue ;; esac
  expect_refused "$file" -- mask info "$file"
  expect_refused "$file" -- mask import "$file" -o target/mask.npy
  bad=$((bad + 1))
done
[ "$bad" -ge 33 ] || fail "only $bad bad files were tried"
[ -z "$(ls target)" ] || fail "a mask was written: $(ls target)"
