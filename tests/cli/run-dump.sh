#!/usr/bin/env bash
# --dump writes inputs, mask and outputs as .npy files of the documented names, shapes and types; outside of the program, from
# these files alone, every output is attention.
. "$(dirname -- "$0")/common.inc"

part dump
# --dump writes inputs, mask and outputs as .npy files of the documented names, shapes and types.
expect_exit 0 run "${small[@]}" -s ring -s usp:ulysses=1,ring=4 --dump dump
expect_files dump dump/layer-0 dump/layer-0/{q,k,v,mask,block_starts,o-ring,o-usp}.npy dump/layer-0/layer.json
for name in q k v o-ring o-usp; do
  head -c 128 "dump/layer-0/$name.npy" | grep -qa "'<f4'.*(3, *126, *8,* *)" || fail "$name.npy is not float32 [3, 126, 8]"
done
head -c 128 dump/layer-0/mask.npy | grep -qa "'|u1'.*(3, *8, *8,* *)" || fail "mask.npy is not uint8 [3, 8, 8]"

part dump-fp32
# Outside the program, from the dumped files alone: every fp32 output is attention, and one wrong number is noticed.
expect_exit 0 run "${small[@]}" --set run.dtype=fp32 --set cluster.ranks=3 --set mask.density=0.4 -s single -s ulysses \
  -s ring -s ring:order=cyclic -s usp --dump dump --json
expect_json 'd["workload"]["density"] < 0.7'  # or masks would prove nothing
check_dump dump 1e-11
[ "$(wc -l <errors)" -eq 5 ] || fail "five outputs were not checked"

printf '\x40' | dd of=dump/layer-0/o-ring.npy bs=1 seek=5003 conv=notrunc status=none
! dump_is_attention dump 1e-11 || fail "a wrong number was not noticed"

part dump-bf16
# The same of bf16; and the error that the program reports is the one that the files have.
expect_exit 0 run "${small[@]}" --set run.dtype=bf16 --set cluster.ranks=3 -s ulysses -s ring -s usp --dump dump --json
check_dump dump 5e-5
while read -r id error; do
  expect_json "abs(s['$id']['max_error'] - $error) < 1e-3 * $error"
done <errors

part dump-batch
# Outside the program: samples of a batch, layers and denoise steps each have their own files, and each is attention.
expect_exit 0 run "${small[@]}" --set model.batch=2 --set run.layers=2 --set run.denoise_steps=2 --set run.dtype=fp32 \
  --set cluster.ranks=2 -s ulysses -s ring --dump dump
check_dump dump 1e-11
[ "$(wc -l <errors)" -eq 8 ] || fail "two outputs of four layers were not checked"
! cmp -s dump/step-0/layer-0/q.npy dump/step-0/layer-1/q.npy || fail "two layers have the same input"

part dump-empty-rows
# Queries that may attend to nothing have the output 0, outside the program too.
python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 run --set model.grid=1,8,8 --set model.heads=2 --set model.head_dim=8 --set mask.block=16 \
  --set mask.file=good-empty-row.npy --set run.repeats=1 --set run.dtype=fp32 --set cluster.ranks=2 -s ulysses -s ring --dump dump
check_dump dump 1e-11

part dump-temporal
# Outside the program: both attentions of a spatial-temporal model are what their masks say.
expect_exit 0 run "${small[@]}" --set model.preset=st-mini --set model.grid=5,3,4 --set run.dtype=fp32 \
  --set mask.temporal_pattern=window --set mask.density=0.5 --set mask.block=4 --set cluster.ranks=3 -s ulysses -s ring \
  --dump dump
expect_files dump dump/layer-0 dump/layer-0/layer.json \
  dump/layer-0/{q,k,v,mask,block_starts,o-ulysses,o-ring}{,_temporal}.npy
check_dump dump 1e-11
[ "$(wc -l <errors)" -eq 2 ] || fail "two strategies were not checked"
