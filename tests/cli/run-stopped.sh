#!/usr/bin/env bash
# A signal ends a run soon with exit code 1, and what was complete by then is kept: the layers that every strategy has
# completed; before there is one, no output, no half-written file, no scratch folder and no process is left. With --headless
# that is said in JSON lines; Slurm's early signal and a hang-up do the same, but for nohup's runs, which go on.
# cost: 12
. "$(dirname -- "$0")/common.inc"

# Before a layer is complete.
for more in 'INT -o kept.db' 'TERM -o kept.db' INT; do
  read -r signal keep <<<"$more"
  # shellcheck disable=SC2086  # a flag and its value, or nothing
  begin run -s ring --set model.grid=6,20,30 --set run.verify=off --set run.mode=execute --set run.repeats=2000 --progress=json $keep
  wait_for grep -q '"phase":"run"' "$err"
  kill "-$signal" "$pid"
  begin=$SECONDS
  expect_end 1 "after SIG$signal"
  [ $((SECONDS - begin)) -lt 30 ] || fail "SIG$signal took effect after $((SECONDS - begin)) s"
  expect_err 'SPS-123'
  [ ! -s "$out" ] || fail "a result was printed"
  expect_no_files
  expect_no_scratch
done

# Ctrl-C is answered at once, and inside the one op of a rank that takes minutes.
begin run -s single --set model.grid=8,40,60 --set mask.pattern=dense --set run.mode=project --set run.repeats=50 \
  --set cluster.ranks=1 --progress=none
sleep 2
kill -INT "$pid"
wait_for grep -q 'stopping...' "$err"
begin=$SECONDS
expect_end 1
[ $((SECONDS - begin)) -lt 15 ] || fail "a projection was stopped after $((SECONDS - begin)) s"
expect_no_scratch

# Systems send several signals at once, Slurm SIGTERM to all processes of a job and SIGUSR1 from its script: the run
# still ends in order, and keeps what it has.
for signals in 'TERM USR1' 'USR1 USR1' 'INT INT'; do
  begin run -s ring "${small[@]}" --set run.denoise_steps=5000 --progress=json -o kept.db
  wait_for_done 20 "$err"
  for signal in $signals; do
    kill "-$signal" "$pid" || true
    sleep 0.002
  done
  expect_end 1 "after $signals"
  expect_files kept.db
  expect_no_scratch
  rm kept.db
done

# So is a simulation that plans and schedules a million messages a layer pass, which says at its begin how long it takes.
for seen in 'bar planning and scheduling for 1,024 ranks takes about 70 s' 'json "phase":"run"'; do
  begin run -s ring --set run.mode=simulate --set cluster.preset=ndr-h100-xN --set cluster.ranks=1024 "--progress=${seen%% *}"
  wait_for grep -qF -- "${seen#* }" "$err"
  sleep 0.5
  kill -TERM "$pid"
  begin=$SECONDS
  expect_end 1 "after: ${seen#* }"
  [ $((SECONDS - begin)) -lt 4 ] || fail "SIGTERM took effect after $((SECONDS - begin)) s: ${seen#* }"
  expect_err 'SPS-123'
  expect_no_scratch
done

begin advise --model wan2.1-t2v-14b --cluster ndr-h100-x128 --density 0.3
wait_for grep -qF 'picking settings of all divisions for 1,024 ranks takes about' "$err"
kill -TERM "$pid"
begin=$SECONDS
expect_end 1 'of advise'
[ $((SECONDS - begin)) -lt 4 ] || fail "advise stopped after $((SECONDS - begin)) s"

part headless
expect_exit 0 run -s ring "${small[@]}" --headless -o kept.db
python3 -B - "$err" <<'PYTHON' || fail "progress is not as expected"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert all(line["shards"] == 2 for line in lines), lines  # the head, and the ranks of this process
assert [line["phase"] for line in lines][-2:] == ["merge", "done"], lines
PYTHON
! grep -q $'\033' "$out" || fail "the result is coloured"
expect_exit 0 run -s ring "${small[@]}" --headless --set run.mode=simulate
expect_err '"shards":1'

# Of 2,000 layer passes of each strategy.
for signal in USR1 HUP INT; do
  rm kept.db
  begin run -s ring -s ulysses "${small[@]}" --set cluster.ranks=3 --set run.layers=4 --set run.denoise_steps=500 --headless -o kept.db
  wait_for_done 20 "$err"
  [ -e kept.db.collecting ] || fail "nothing says where the collection is"
  kill "-$signal" "$pid"
  expect_end 1 "after SIG$signal"
  expect_err 'of 2,000 layer passes'
  tail -n 1 "$err" | grep -qF '"exit_code":1,"failure":{"code":"SPS-123","message":"the run was stopped by SIG'"$signal" ||
    fail "the last line is another"
  expect_files kept.db
  expect_no_scratch
  expect_exit 0 sql kept.db "SELECT message FROM incident"
  expect_out "SIG$signal"
done

# What is kept are the layers that every strategy has completed.
expect_exit 0 doctor kept.db
expect_exit 0 compare kept.db --json
expect_json '10 <= len(s["ring"]["by_layer"]) == len(s["ulysses"]["by_layer"]) < 2000' \
  'd["workload"]["layer_passes_done"] == len(s["ring"]["by_layer"]) and d["workload"]["layer_passes"] == 2000' \
  'all(l["verify"] == "passed" for x in s.values() for l in x["by_layer"])'
expect_exit 0 compare kept.db
expect_out 'interrupted after' 'of 2,000 layer passes' 'the run was stopped by SIGINT'
[ "$(grep -c 'interrupted' "$out" || true)" -eq 1 ] || fail "that it was interrupted is said more than once"
rm kept.db

nohup "$SPSCOPE" run -s ring "${small[@]}" --set run.denoise_steps=60 --headless -o kept.db >"$out" 2>"$err" &
pid=$!
wait_for_done 5 "$err"
kill -HUP "$pid"
expect_end 0 "after nohup's SIGHUP"
