#!/usr/bin/env bash
# Outside the program: both attentions of a spatial-temporal model are what their masks say.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" --set model.preset=st-mini --set model.grid=5,3,4 --set run.dtype=fp32 \
  --set mask.temporal_pattern=window --set mask.density=0.5 --set mask.block=4 --set cluster.ranks=3 -s ulysses -s ring \
  --dump dump
expect_files dump dump/layer-0 dump/layer-0/layer.json \
  dump/layer-0/{q,k,v,mask,block_starts,o-ulysses,o-ring}{,_temporal}.npy
check_dump dump 1e-11
[ "$(wc -l <errors)" -eq 2 ] || fail "two strategies were not checked"
