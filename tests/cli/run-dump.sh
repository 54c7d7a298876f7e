#!/usr/bin/env bash
# --dump writes inputs, mask and outputs as .npy files of the documented names, shapes and types.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s usp:ulysses=1,ring=4 --dump dump
expect_files dump dump/layer-0 dump/layer-0/{q,k,v,mask,block_starts,o-ring,o-usp}.npy dump/layer-0/layer.json
for name in q k v o-ring o-usp; do
  head -c 128 "dump/layer-0/$name.npy" | grep -qa "'<f4'.*(3, *126, *8,* *)" || fail "$name.npy is not float32 [3, 126, 8]"
done
head -c 128 dump/layer-0/mask.npy | grep -qa "'|u1'.*(3, *8, *8,* *)" || fail "mask.npy is not uint8 [3, 8, 8]"
