#!/usr/bin/env bash
# Guidance passes at once on processes: their outputs and the guided prediction are those of thread ranks.
# labels: mpi extended
. "$(dirname -- "$0")/common.inc"
need_mpi

job=("${small[@]}" --set run.dtype=fp32 --set cluster.ranks=4 --set cluster.guidance=2 -s ring)
expect_exit 0 run "${job[@]}" --dump threads --json
expect_exit 0 run "${job[@]}" --dump mpi --launcher mpi --json
expect_json "s['ring']['verify'] == 'passed'" "len(s['ring']['bytes_sent']) == 4"
"$python" -B "$scripts/same_arrays.py" threads/layer-0 mpi/layer-0 o-ring{,-pass-1}.npy guided-ring.npy || fail "processes give other outputs than threads"
