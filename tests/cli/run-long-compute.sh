#!/usr/bin/env bash
# A run of over two minutes that does not say run.mode is refused before anything is made, with both ways on.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

wan=(--set model.preset=wan2.1-t2v-14b -s "usp:ulysses=2,ring=2")
expect_refused 'SPS-128' 'TFLOP' 'run.mode=simulate' 'run.mode=execute' -- run "${wan[@]}" -o kept.db
expect_no_files
expect_no_scratch
# Given in a flag or in the config, the mode is taken.
expect_exit 0 run "${wan[@]}" --set run.mode=simulate --set cluster.preset=h100x8 -s ring
printf '[run]\nmode = "simulate"\n' >said.toml
expect_exit 0 run said.toml "${wan[@]}"
