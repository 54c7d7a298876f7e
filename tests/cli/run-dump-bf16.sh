#!/usr/bin/env bash
# As run-dump-fp32, for bf16; and the error that the program reports is the one that the files have.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" --set run.dtype=bf16 --set cluster.ranks=3 -s ulysses -s ring -s usp --dump dump --json
check_dump dump 5e-5
while read -r id error; do
  expect_json "abs(s['$id']['max_error'] - $error) < 1e-3 * $error"
done <errors
