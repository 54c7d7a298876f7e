#!/usr/bin/env bash
# --headless: JSON lines on standard error and a plain result; Slurm's early signal, a hang-up and an interrupt keep the
# layers that every strategy has completed, say how many, and exit with 1; nohup's runs go on.
# cost: 5
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run -s ring "${small[@]}" --headless -o kept.db
cp "$err" progress
python3 -B - progress <<'PYTHON' || fail "progress is not as expected"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert all(line["shards"] == 2 for line in lines), lines  # the head, and the ranks of this process
assert [line["phase"] for line in lines][-2:] == ["merge", "done"], lines
PYTHON
! grep -q $'\033' "$out" || fail "the result is coloured"
expect_exit 0 run -s ring "${small[@]}" --headless --set run.mode=simulate
expect_err '"shards":1'
rm progress kept.db

# stopped_by SIGNAL: a run of 2,000 layer passes of each strategy.
stopped_by() {
  : >"$err"
  "$SPSCOPE" run -s ring -s ulysses "${small[@]}" --set cluster.ranks=3 --set run.layers=4 --set run.denoise_steps=500 \
    --headless -o kept.db >"$out" 2>"$err" &
  pid=$! code=0
  wait_for_done 20 "$err"
  [ -e kept.db.collecting ] || fail "nothing says where the collection is"
  kill "-$1" "$pid"
  wait "$pid" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code after SIG$1, not 1"
  expect_err 'of 2,000 layer passes'
  tail -n 1 "$err" >last
  grep -qF '"exit_code":1,"failure":{"code":"SPS-123","message":"the run was stopped by SIG'"$1" last ||
    fail "the last line is: $(cat last)"
  rm last
  expect_files kept.db
  expect_no_scratch
  expect_exit 0 sql kept.db "SELECT message FROM incident"
  expect_out "SIG$1"
}
for signal in USR1 HUP; do
  stopped_by $signal
  rm kept.db
done

# What is kept are the layers that every strategy has completed.
stopped_by INT
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
rm kept.db

nohup "$SPSCOPE" run -s ring "${small[@]}" --set run.denoise_steps=60 --headless -o kept.db >"$out" 2>"$err" &
pid=$! code=0
wait_for_done 5 "$err"
kill -HUP "$pid"
wait "$pid" || code=$?
[ "$code" -eq 0 ] || fail "exit code $code: nohup's SIGHUP ended the run"
