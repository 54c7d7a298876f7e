#!/usr/bin/env bash
# Outside the program: samples of a batch, layers and denoise steps each have their own files, and each is attention.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" --set model.batch=2 --set run.layers=2 --set run.denoise_steps=2 --set run.dtype=fp32 \
  --set cluster.ranks=2 -s ulysses -s ring --dump dump
check_dump dump 1e-11
[ "$(wc -l <errors)" -eq 8 ] || fail "two outputs of four layers were not checked"
! cmp -s dump/step-0/layer-0/q.npy dump/step-0/layer-1/q.npy || fail "two layers have the same input"
