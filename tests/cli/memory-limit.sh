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
expect_out 'Memory: dsp fits, with ' ' GiB to spare' 'It needs ' ' of 80 GiB, at rank '
spscope run "${long[@]}" --set run.mode=simulate --set cluster.ranks=8 -s dsp --json
# 7.2 GB of weights in bf16, and 2.5 GiB reserved, at every rank.
expect_json 'd["strategies"][0]["memory_need"]["limit_bytes"] == 80 * 2**30' 'd["strategies"][0]["memory_need"]["fits"]' \
  'len(d["strategies"][0]["memory_need"]["bytes_by_rank"]) == 8' \
  'all(7.2e9 < r["weights"] < 7.4e9 and r["reserved"] == 2.5 * 2**30 for r in d["strategies"][0]["memory_need"]["bytes_by_rank"])'

# What fits, and what is not counted, is one line; a text encoder and quantised weights are counted where the config says so.
wan=(--set model.preset=wan2.1-t2v-14b --set mask.pattern=dense --set mask.block=256 --set cluster.preset=4090x8
  --set cluster.ranks=4 --set run.scope=layer)
expect_exit 0 plan "${wan[@]}" -s ulysses --set run.weights=sharded
expect_out 'Memory: ulysses u4 fits together with the text encoder, but only with the VAE elsewhere or decoding in tiles'
need='d["strategies"][0]["memory_need"]' ranks='d["strategies"][0]["memory_need"]["bytes_by_rank"]'
expect_exit 0 plan "${wan[@]}" -s ulysses --set run.weights=sharded --json
expect_json "${need}[\"verdict\"] == \"fits_alone\"" "${need}[\"tight\"]" "0 < ${need}[\"margin_bytes\"] < 1.2 * 2**30" \
  "${need}[\"not_counted\"][\"text_encoder\"] == 2 * 5681 * 10**6" "${need}[\"not_counted\"][\"vae\"] > 20 * 2**30"
expect_exit 0 plan "${wan[@]}" -s ulysses --set run.weight_dtype=int8 --set run.text_encoder=cpu --json
expect_json "${need}[\"not_counted\"][\"text_encoder\"] == 0" \
  "all(14.2e9 < r[\"weights\"] < 14.4e9 and r[\"text_encoder\"] == 0 for r in $ranks)"
expect_exit 0 plan "${wan[@]}" -s ulysses --set run.weight_dtype=fp8 --set run.text_encoder=sharded --set run.other_gib=1.5 --json
expect_json "all(r[\"other\"] == 1.5 * 2**30 and r[\"text_encoder\"] == 5681 * 10**6 // 2 for r in $ranks)"
expect_exit 0 plan "${wan[@]}" -s ulysses --set run.weight_dtype=int8 --set run.text_encoder=gpu
expect_out 'ulysses u4 cannot run: needs ' '(run.text_encoder = cpu)'
expect_refused 'did you mean "int8"?' -- plan --set run.weight_dtype=int88

# A cluster file's name is its owner's: no count is read out of it.
expect_exit 0 list clusters --toml h100x8
sed 's/^name = .*/name = "3x5090"/' "$out" >own.toml
expect_exit 0 plan --set cluster.profile=own.toml --set cluster.preset=local --set cluster.ranks=3 -s ring
expect_out ', 3 ranks of 3x5090'

# This machine's memory is not the cluster's: an executed run is not judged by it.
spscope run "${small[@]}" --set cluster.preset=h100x8 --set cluster.ranks=2 -s ring
[ "$code" -eq 0 ] || fail "exit code $code"
