#!/usr/bin/env bash
# A strategy that needs more memory than a rank of the cluster has cannot run on it: refused by run and plan with its parts
# and what would fit, kept with the run, and stated for those that fit.
. "$(dirname -- "$0")/common.inc"

# 4.7 M tokens of a 3B model: whole layers of two ranks need more than 80 GB.
long=(--set model.preset=dsp-3b --set "model.grid=[512,96,96]" --set run.scope=layer --set mask.pattern=dense
  --set cluster.preset=h100x8)

spscope run "${long[@]}" --set run.mode=simulate --set cluster.ranks=2 -s dsp -s allgather_kv -o refused.db
expect_out 'dsp cannot run: needs ' ' of 80 GiB, at rank 0: ' ' activations, ' ' weights, ' ' reserved; fits from '
spscope plan "${long[@]}" --set cluster.ranks=2 -s dsp
expect_out ' of 80 GiB, at rank 0: '
spscope report refused.db
expect_out ' of 80 GiB, at rank 0: '

spscope run "${long[@]}" --set run.mode=simulate --set cluster.ranks=8 -s dsp -o fits.db
expect_out 'Memory: all of these fit; the largest, dsp, needs ' ' of 80 GiB, at rank '
spscope run "${long[@]}" --set run.mode=simulate --set cluster.ranks=8 -s dsp --json
# 7.2 GB of weights in bf16, and 2.5 GiB reserved, at every rank.
expect_json 'd["strategies"][0]["memory_need"]["limit_bytes"] == 80 * 2**30' 'd["strategies"][0]["memory_need"]["fits"]' \
  'len(d["strategies"][0]["memory_need"]["bytes_by_rank"]) == 8' \
  'all(7.2e9 < r["weights"] < 7.4e9 and r["reserved"] == 2.5 * 2**30 for r in d["strategies"][0]["memory_need"]["bytes_by_rank"])'

# This machine's memory is not the cluster's: an executed run is not judged by it.
spscope run "${small[@]}" --set cluster.preset=h100x8 --set cluster.ranks=2 -s ring
[ "$code" -eq 0 ] || fail "exit code $code"
