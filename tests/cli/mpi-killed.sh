#!/usr/bin/env bash
# A rank that is killed, or (wide) mpirun is, or the launcher, or a run that is stopped: the cause is named, and no process, no
# shared memory and no session folder is left.
# labels: mpi wide
# cost: 20
. "$(dirname -- "$0")/common.inc"
need_mpi

begin() {
  : >"$err"
  code=0
  "$SPSCOPE" run -s ring --set cluster.ranks=3 --set run.mode=execute --set run.denoise_steps=5000 --set run.verify=off --headless --launcher mpi \
    -o kept.db >"$out" 2>"$err" &
  pid=$!
  wait_for_done 20 "$err"
  ranks=$(pgrep -f -- "$temporary/here/kept.db.collecting" | tr '\n' ' ')
}

# A rank that is killed inside a long op: the op is named.
"$SPSCOPE" run -s ring --set model.grid=12,30,52 --set model.heads=12 --set model.head_dim=64 --set cluster.ranks=2 \
  --set run.mode=execute --set run.repeats=100 --set run.verify=off --launcher mpi --headless -o kept.db >"$out" 2>"$err" &
pid=$! code=0
in_pass() { "$SPSCOPE" watch kept.db --json --once 2>/dev/null | grep -q computing; }
wait_for in_pass
kill -KILL "$(pgrep -f -- "run .*--collection $temporary/here/kept.db.collecting" | tail -n 1)"
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code after a rank was killed"
expect_err 'SPS-120' 'rank ' ' op ' 'signal 9'
expect_exit 0 doctor kept.db
expect_no_ranks
rm kept.db

begin
victim=$(pgrep -f -- "run .*--collection $temporary/here/kept.db.collecting" | tail -n 1)
"$SPSCOPE" watch kept.db --json --every 0.1 >looks &
watcher=$! watched=0
wait_for test -s looks
mpirun=$(pgrep -P "$pid")
kill -STOP "$mpirun"  # so that it does not end the others before anybody has looked
kill -KILL "$victim"
wait_for grep -q '"failure":"rank' looks
kill -CONT "$mpirun"
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code after a rank was killed"
expect_err 'SPS-120' 'rank '
# watch ends as the run does, and names the rank that was killed before those that mpirun ended.
wait "$watcher" || watched=$?
[ "$watched" -eq 1 ] || fail "exit code $watched of watch after a rank was killed"
python3 -B - "$victim" looks <<'PYTHON' || fail "watch does not tell what happened: $(tail -n 1 looks)"
import json, sys
looks = [json.loads(line) for line in open(sys.argv[2])]
assert looks[0]["progress"]["total"] == 5000 and not looks[0]["failure"], looks[0]
assert looks[-1]["exit_code"] == 1 and f"process {sys.argv[1]} " in looks[-1]["failure"], looks[-1]
for look in looks:
    # How the run ended comes first, where watch knows it.
    faults = [look["failure"]] * bool(look["failure"]) + [f["message"] for f in look["findings"] if f["fault"]]
    assert not faults or f"process {sys.argv[1]} " in faults[0], look
PYTHON
rm looks
expect_exit 0 doctor kept.db
expect_no_ranks
rm kept.db

[ -n "${WIDE:-}" ] || exit 0

# mpirun is killed, and one of its ranks is stopped, so that it cannot notice.
begin
mpirun=$(pgrep -P "$pid")
kill -STOP "$(pgrep -P "$mpirun" | head -n 1)"
kill -KILL "$mpirun"
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code after mpirun was killed"
expect_err 'SPS-120' 'mpirun was ended by signal 9 (Killed)' 'kept.db'
expect_exit 0 doctor kept.db
expect_exit 0 sql kept.db "SELECT message FROM incident ORDER BY ordinal LIMIT 1" --csv
expect_out 'mpirun was ended by signal 9'
expect_files kept.db
expect_no_scratch
expect_no_ranks
rm kept.db

begin
kill -TERM "$pid"
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code after the run was stopped"
expect_exit 0 sql kept.db --csv 'SELECT message FROM incident'
expect_out 'the run was stopped'
! grep SIGUSR1 "$out" || fail "the signal that only the ranks were sent is named"
expect_exit 0 doctor kept.db
expect_files kept.db
expect_no_ranks
rm kept.db

begin
kill -KILL "$pid"
wait "$pid" || code=$?
no_ranks() { ! pgrep -f -- "$temporary/here/kept.db.collecting" >/dev/null; }
wait_for no_ranks
[ -n "$ranks" ] || fail "no ranks were found"
expect_no_ranks
