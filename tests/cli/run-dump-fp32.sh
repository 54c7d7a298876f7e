#!/usr/bin/env bash
# Outside the program, from the dumped files alone: every fp32 output is attention, and one wrong number is noticed.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" --set run.dtype=fp32 --set cluster.ranks=3 --set mask.density=0.4 -s single -s ulysses \
  -s ring -s ring:order=cyclic -s usp --dump dump --json
expect_json 'd["workload"]["density"] < 0.7'  # or masks would prove nothing
check_dump dump 1e-11
[ "$(wc -l <errors)" -eq 5 ] || fail "five outputs were not checked"

printf '\x40' | dd of=dump/layer-0/o-ring.npy bs=1 seek=5003 conv=notrunc status=none
! dump_is_attention dump 1e-11 || fail "a wrong number was not noticed"
