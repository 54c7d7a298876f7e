#!/usr/bin/env bash
# Flags of mask that are outside every sense are refused, also those whose products would overflow.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B "$scripts/bad_arrays.py" .
while read -r -a arguments; do
  expect_refused 'error SPS-' -- mask "${arguments[@]}"
done < <(printf '%s\n' \
  'generate pro' 'generate paro --grid 2,6' 'generate paro --grid 0,6,4' 'generate paro --grid 100000,100000,10' \
  'generate paro --grid -1,4,4' 'generate paro --heads -1' 'generate paro --heads 0' \
  'generate paro --heads 99999999999' 'generate paro --density nan' 'generate paro --density 0' \
  'generate paro --density 1.5' 'generate paro --block 0' 'generate paro --block 2147483647' \
  'generate paro --step 2147483647' 'generate paro --layer -1' 'generate paro --text-tokens -5' \
  'generate paro --text-tokens 2147483647' 'generate window --set radus=3' 'generate window --set radius=-3' \
  'generate window --set radius' 'generate dense --grid 1000,1000,1000 --heads 4000' \
  'info good.npy --block 2147483647' 'info good.npy --block 0' 'info good.npy --tokens -5' \
  'info good.npy --tokens 99999999999999' 'info good.npy --layer 2147483647' 'generate' 'info' 'import good.npy')
expect_refused 'did you mean "paro"?' -- mask generate pro
expect_refused 'did you mean "info"?' -- mask inf
