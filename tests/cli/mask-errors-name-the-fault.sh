#!/usr/bin/env bash
# A refused mask file is told apart by the number of its error, and the fix is named.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B "$scripts/bad_arrays.py" .
expect_refused 'SPS-040' 'missing.npy' -- mask info missing.npy
expect_refused 'SPS-041' '155 bytes' '160' -- mask info truncated.npy
expect_refused 'SPS-041' -- mask info truncated.safetensors
expect_refused 'SPS-042' 'object' 'unpickled' -- mask info object.npy
expect_refused 'SPS-042' 'object' -- mask info object.npz
expect_refused 'SPS-042' 'float32' 'astype' -- mask info nan.npy
expect_refused 'SPS-043' '[8, 4]' '[heads, q, k]' 'np.repeat(mask[None], heads, 0)' -- mask info two-dimensions.npy
expect_refused 'SPS-044' '1099511627776' -- mask info huge-dimension.npy
expect_refused 'SPS-044' -- mask info overflow.npy
expect_refused 'SPS-044' -- mask info huge-dimension.safetensors
expect_refused 'SPS-045' 'element 0' -- mask info two.npy
expect_refused 'SPS-046' -- mask info text.npy
lines short.npy '0 1'
expect_refused 'SPS-046' -- mask info short.npy
expect_refused '(mask > 0)' -- mask info two.npy
expect_refused 'one, other' '--array' -- mask info two-arrays.npz
expect_refused 'third' -- mask info two-arrays.npz --array third
expect_exit 0 mask info two-arrays.npz --array other
mkdir folder.npy
expect_refused 'SPS-040' 'folder.npy' -- mask info folder.npy
expect_refused 'SPS-046' '.safetensors' -- mask info "$samples/README.md"
