#!/usr/bin/env bash
# A run that is stopped keeps the layers that every strategy has completed, says how many, and exits with 1.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

"$SPSCOPE" run -s ring -s ulysses "${small[@]}" --set cluster.ranks=3 --set run.layers=4 --set run.denoise_steps=500 \
  --progress=json -o kept.db >"$out" 2>"$err" &
pid=$!
wait_for_done 20 "$err"
kill -INT "$pid"
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code, not 1"
expect_err 'of 2,000 layer passes'
expect_files kept.db
expect_exit 0 doctor kept.db
expect_exit 0 compare kept.db --json
expect_json '10 <= len(s["ring"]["by_layer"]) == len(s["ulysses"]["by_layer"]) < 2000' \
  'd["workload"]["layer_passes_done"] == len(s["ring"]["by_layer"]) and d["workload"]["layer_passes"] == 2000' \
  'all(l["verify"] == "passed" for x in s.values() for l in x["by_layer"])'
expect_exit 0 compare kept.db
expect_out 'of 2,000 layer passes' 'interrupted: of 4 layers x 500 denoise steps' 'the run was stopped by SIGINT'
[ "$(grep -c 'interrupted' "$out" || true)" -eq 1 ] || fail "that it was interrupted is said more than once"
expect_exit 0 sql kept.db "SELECT name FROM sqlite_temp_schema WHERE type = 'view'"
expect_out 'rank_load'
