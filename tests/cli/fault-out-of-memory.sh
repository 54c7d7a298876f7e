#!/usr/bin/env bash
# The system ends a process because the memory of its control group is full. Of an MPI rank: it is named, with the group
# and its bytes, and what was recorded is kept. Of the whole run: what it had committed is recovered.
# labels: mpi
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"
need_mpi

# A control group of this test, of version 1 or 2.
limit=$((1 << 30))
if mkdir "/sys/fs/cgroup/memory/spscope-$$" 2>/dev/null; then
  group=/sys/fs/cgroup/memory/spscope-$$
  echo "$limit" >"$group/memory.limit_in_bytes"
elif mkdir "/sys/fs/cgroup/spscope-$$" 2>/dev/null; then
  group=/sys/fs/cgroup/spscope-$$
  clean_up() { rmdir "$group"; }
  { echo "$limit" >"$group/memory.max"; } 2>/dev/null || { clean_up; skip "no memory controller for control groups here"; }
  { echo 0 >"$group/memory.swap.max"; } 2>/dev/null || true
else
  skip "control groups cannot be made here"
fi
trap 'rmdir "$group"; rm -rf -- "$temporary"' EXIT

# Fills the group until the process that it is told of is gone. It is not chosen itself.
cat >hog.py <<'END'
import os, sys, time
victim, group = sys.argv[1], sys.argv[2]
open(group + "/cgroup.procs", "w").write(str(os.getpid()))
open("/proc/self/oom_score_adj", "w").write("-1000")
open(f"/proc/{victim}/oom_score_adj", "w").write("1000")
kept = []
def is_there():
    try:
        return open(f"/proc/{victim}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
while is_there():
    kept.append(b"x" * (8 << 20))
    time.sleep(0.002)
END

# start ARGUMENT...: a run in the group.
start() {
  : >"$err"
  code=0
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=3 \
    --set run.denoise_steps=10000 --set run.verify=off --headless -o kept.db "$@" >"$out" 2>"$err" &
  pid=$!
  wait_for_done 40 "$err"
}

start --launcher mpi
victim=$("$SPSCOPE" watch kept.db --once --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ranks"][2]["pid"])')
python3 -B hog.py "$victim" "$group" || true
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code after a rank was ended for memory"
expect_err 'SPS-120' 'rank 2 ended' "its process $victim was ended by signal 9" \
  "the memory of its control group \"$group\" was full, at $limit bytes" 'kept.db'
expect_exit 0 doctor kept.db
expect_exit 0 sql kept.db "SELECT rank || ' ' || message FROM incident ORDER BY ordinal LIMIT 1" --csv
expect_out '2 rank 2 ended' 'control group'
expect_exit 0 sql kept.db "SELECT CASE WHEN count(*) = 3 AND min(stored) > 0 THEN 'of all ranks' END
  FROM (SELECT sum(stored) AS stored FROM ledger JOIN track USING (track_id) GROUP BY rank)"
expect_out 'of all ranks'
expect_no_ranks
rm kept.db

# Ranks that are threads go with their process; the next run names what is left, and recover makes a file of it.
start
committed=$("$SPSCOPE" watch kept.db --once --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["events_committed"])')
python3 -B hog.py "$pid" "$group" || true
wait "$pid" || code=$?
[ "$code" -eq 137 ] || fail "exit code $code"
expect_exit 0 recover kept.db -o again.db
expect_exit 0 sql again.db "SELECT CASE WHEN sum(stored) >= $committed AND $committed > 0 THEN 'all of them' END FROM ledger"
expect_out 'all of them'
