#!/usr/bin/env bash
# SIGINT and SIGTERM end a run soon with exit code 1: no output, no half-written file, no scratch folder, no process.
# cost: 7
. "$(dirname -- "$0")/common.inc"

stop_with() {
  local signal=$1 begin pid
  shift
  : >"$err"  # what the last run said must not be taken for this one's
  "$SPSCOPE" run -s ring --set model.grid=6,20,30 --set run.verify=off --set run.mode=execute --set run.repeats=2000 --progress=json "$@" \
    >"$out" 2>"$err" &
  pid=$!
  wait_for grep -q '"phase":"run"' "$err"
  kill "-$signal" "$pid"
  begin=$SECONDS code=0
  wait "$pid" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code after SIG$signal, not 1"
  [ $((SECONDS - begin)) -lt 30 ] || fail "SIG$signal took effect after $((SECONDS - begin)) s"
  expect_err 'SPS-123'
  [ ! -s "$out" ] || fail "a result was printed"
  [ ! -e "/proc/$pid" ] || fail "the process is still there"
  expect_no_files
  expect_no_scratch
}
stop_with INT -o kept.db
stop_with TERM -o kept.db
stop_with INT

# Ctrl-C is answered at once, and inside the one op of a rank that takes minutes.
"$SPSCOPE" run -s single --set model.grid=8,40,60 --set mask.pattern=dense --set run.mode=project --set run.repeats=50 \
  --set cluster.ranks=1 --progress=none >"$out" 2>"$err" &
pid=$! code=0
sleep 2
kill -INT "$pid"
wait_for grep -q 'stopping...' "$err"
begin=$SECONDS
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code, not 1"
[ $((SECONDS - begin)) -lt 15 ] || fail "a projection was stopped after $((SECONDS - begin)) s"
expect_no_scratch

# Systems send several signals at once, Slurm SIGTERM to all processes of a job and SIGUSR1 from its script: the run
# still ends in order, and keeps what it has.
for signals in 'TERM USR1' 'USR1 USR1' 'INT INT'; do
  : >"$err"
  "$SPSCOPE" run -s ring "${small[@]}" --set run.denoise_steps=5000 --progress=json -o kept.db >"$out" 2>"$err" &
  pid=$! code=0
  wait_for_done 20 "$err"
  for signal in $signals; do
    kill "-$signal" "$pid" || true
    sleep 0.002
  done
  wait "$pid" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code after $signals"
  expect_files kept.db
  expect_no_scratch
  rm kept.db
done
