#!/usr/bin/env bash
# A rank's process that is stopped (SIGSTOP): the run says so at once and how to go on; goes on with it; and when it stays
# stopped, ends, names it with its op and sequence number, and keeps what was recorded.
# labels: mpi extended
# cost: 20
. "$(dirname -- "$0")/common.inc"
need_mpi

# start PASSES: a run in the background; `victim` is the process of its rank 1.
start() {
  begin run -s ring "${small[@]}" --set run.mode=execute --set model.grid=6,14,14 --set cluster.ranks=3 --set run.repeats=20 \
    --set "run.denoise_steps=$1" --set run.verify=off --headless --launcher mpi -o kept.db
  wait_for_done 5 "$err"
  victim=$(of_rank_1 pid)
}
of_rank_1() {
  "$SPSCOPE" watch kept.db --once --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ranks"][1][sys.argv[1]])' "$1"
}
# Stops the victim, inside an op.
stop_in_op() {
  kill -STOP "$victim"
  [ "$(of_rank_1 op)" = None ] || return 0
  kill -CONT "$victim"
  sleep "0.0$((RANDOM % 10))"
  return 1
}
all_there="SELECT count(*) > 0 AND min(stored) > 0 AND sum(sent) = sum(stored)
  FROM (SELECT rank, sum(sent) AS sent, sum(stored) AS stored FROM ledger JOIN track USING (track_id) GROUP BY rank)"

# It goes on in time: the run ends well, and the file says why its times are what they are.
start 60
kill -STOP "$victim"
wait_for grep -qF "\"rank 1 is stopped" "$err"
expect_err "kill -CONT $victim"
sleep 1.5
kill -CONT "$victim"
wait_for grep -qF '"rank 1 goes on after ' "$err"
expect_end 0 "although the rank went on"
[ "$(grep -c 'is stopped' "$err")" -eq 1 ] || fail "the stop was told more than once"
expect_exit 0 sql kept.db "SELECT rank || ' ' || kind || ' ' || message FROM incident" --csv
expect_out '1 ' 'rank 1 is stopped' 'it went on after '
expect_sql kept.db 1 'SELECT count(*) FROM incident'
expect_sql kept.db 1 "$all_there"
expect_no_ranks
rm kept.db

# It stays stopped: the ranks that wait for it end the run.
export SPSCOPE_PATIENCE_S=3
start 5000
wait_for stop_in_op
expect_end 1 "after a rank stayed stopped"
expect_err "rank 1 is stopped" "its process $victim" 'kept.db'
grep -qF '"code":"SPS-121","message":"rank 1 ' "$err" || fail "no error names rank 1"
expect_not_err 'rank 1 goes on'
other=$(grep -v '^{.*}$' "$err" || true)
[ -z "$other" ] || fail "not JSON: $other"
expect_exit 0 doctor kept.db
# The first cause comes first, with op and sequence number. The others end the run: they wait for it in ops, or at the end
# of the repeat.
expect_exit 0 sql kept.db "SELECT message FROM incident ORDER BY ordinal LIMIT 1" --csv
grep -qE 'rank 1 is stopped in .*op [0-9]+ \(sequence [0-9]+, lane [0-9]' "$out" || fail "the incident does not name the op"
expect_exit 0 sql kept.db "SELECT group_concat(message, ' | ') FROM incident" --csv
grep -qE "rank 1 made no progress for .*: its process $victim is stopped by a signal" "$out" || fail "no rank names it"
# Its end may take the event with it that it was writing.
expect_sql kept.db 1 "SELECT min(stored) > 0 AND sum(sent) = sum(stored + dropped + unreadable + lost) AND sum(sent) - sum(stored) <= 1 FROM ledger"
expect_files kept.db
expect_no_ranks
