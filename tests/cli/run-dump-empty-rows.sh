#!/usr/bin/env bash
# Queries that may attend to nothing have the output 0, outside the program too.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 run --set model.grid=1,8,8 --set model.heads=2 --set model.head_dim=8 --set mask.block=16 \
  --set mask.file=good-empty-row.npy --set run.repeats=1 --set run.dtype=fp32 --set cluster.ranks=2 -s ulysses -s ring --dump dump
check_dump dump 1e-11
