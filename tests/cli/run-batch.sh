#!/usr/bin/env bash
# A batch is computed whole on every rank: verified, and exactly twice the bytes of one sample.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

bytes() { python3 -B -c 'import json, sys; print(*(sum(s["bytes_sent"]) for s in json.load(open(sys.argv[1]))["strategies"]))' "$out"; }
strategies=(-s ulysses -s ring -s usp --set cluster.ranks=3)
expect_exit 0 run "${small[@]}" "${strategies[@]}" --json
read -r ulysses ring usp <<<"$(bytes)"
expect_exit 0 run "${small[@]}" "${strategies[@]}" --set model.batch=2 --json
expect_json 'd["workload"]["batch"] == 2' 'all(x["verify"] == "passed" for x in s.values())' \
  "sum(s['ulysses']['bytes_sent']) == 2 * $ulysses > 0" "sum(s['ring']['bytes_sent']) == 2 * $ring > 0" \
  "sum(s['usp']['bytes_sent']) == 2 * $usp > 0"
