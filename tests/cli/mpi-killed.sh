#!/usr/bin/env bash
# A rank that is killed, or (wide) mpirun is, or all at once, or a run that is stopped: the cause is named, and no
# process, no shared memory and no session folder is left; what was killed at once leaves shared memory to a later run, which
# removes nothing of a run that goes on, of another user, or of another kind.
# labels: mpi wide
# cost: 20
. "$(dirname -- "$0")/common.inc"
need_mpi

# start OUT ARGUMENT...: many passes; `ranks` are its processes, `mpirun` their parent.
start() {
  begin run -s ring --set run.mode=execute --set run.verify=off --headless --launcher mpi -o "$1" "${@:2}"
  wait_for pgrep -f -- "run .*--collection $temporary/here/$1.collecting" >/dev/null
}
passes=(--set cluster.ranks=3 --set run.denoise_steps=5000)
start_passes() {
  start "$1" "${passes[@]}"
  wait_for_done 20 "$err"
  mapfile -t ranks < <(pgrep -f -- "run .*--collection $temporary/here/$1.collecting")
  mpirun=$(pgrep -P "$pid")
}

# A rank that is killed inside a long op: the op is named.
start kept.db --set model.grid=12,30,52 --set model.heads=12 --set model.head_dim=64 --set cluster.ranks=2 --set run.repeats=100
in_pass() { "$SPSCOPE" watch kept.db --json --once 2>/dev/null | grep -q computing; }
wait_for in_pass
kill -KILL "$(pgrep -f -- "run .*--collection $temporary/here/kept.db.collecting" | tail -n 1)"
expect_end 1 "after a rank was killed"
expect_err 'SPS-120' 'rank ' ' op ' 'signal 9'
expect_exit 0 doctor kept.db
expect_no_ranks
rm kept.db

start_passes kept.db
victim=${ranks[-1]}
"$SPSCOPE" watch kept.db --json --every 0.1 >looks &
watcher=$!
wait_for test -s looks
kill -STOP "$mpirun"  # so that it does not end the others before anybody has looked
kill -KILL "$victim"
wait_for grep -q '"failure":"rank' looks
kill -CONT "$mpirun"
expect_end 1 "after a rank was killed"
expect_err 'SPS-120' 'rank '
# watch ends as the run does, and names the rank that was killed before those that mpirun ended.
pid=$watcher
expect_end 1 "of watch after a rank was killed"
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
start_passes kept.db
kill -STOP "$(pgrep -P "$mpirun" | head -n 1)"
kill -KILL "$mpirun"
expect_end 1 "after mpirun was killed"
expect_err 'SPS-120' 'mpirun was ended by signal 9 (Killed)' 'kept.db'
expect_exit 0 doctor kept.db
expect_exit 0 sql kept.db "SELECT message FROM incident ORDER BY ordinal LIMIT 1" --csv
expect_out 'mpirun was ended by signal 9'
expect_files kept.db
expect_no_scratch
expect_no_ranks
rm kept.db

start_passes kept.db
kill -TERM "$pid"
expect_end 1 "after the run was stopped"
expect_exit 0 sql kept.db --csv 'SELECT message FROM incident'
expect_out 'the run was stopped'
expect_not_out SIGUSR1  # that only the ranks were sent
expect_exit 0 doctor kept.db
expect_files kept.db
expect_no_ranks
rm kept.db

# All at once.
find /dev/shm -mindepth 1 | sort >"$temporary/shared"
segments() { find /dev/shm -mindepth 1 | sort | comm -13 "$temporary/shared" -; }
: >"$temporary/mine"  # folders in /dev/shm that this script makes
trap 'xargs -r rm -rf -- <"$temporary/mine"; rm -rf -- "$temporary"' EXIT
start_passes kept.db
kill -KILL "$pid" "$mpirun" "${ranks[@]}"
wait "$pid" || true
segments | grep -q '/dev/shm/spscope_segments-[^/]*/' || fail "nothing was left, so nothing can be removed: $(ls -R /dev/shm)"

# Of another user, and of a collection in /dev/shm.
for name in spscope_segments-theirs spscope-run-000000; do
  mkdir "/dev/shm/$name$$" && echo "/dev/shm/$name$$" >>"$temporary/mine"
  touch "/dev/shm/$name$$/vader_segment"
done
if [ "$(id -u)" -eq 0 ]; then chown -R 65534 "/dev/shm/spscope_segments-theirs$$"; else rm -r "/dev/shm/spscope_segments-theirs$$"; fi
left=$(find /dev/shm -path "*$$*" | sort)

start_passes other.db
[ "$(segments | grep -c '/vader_segment')" -eq "$((3 + $(grep -c /vader_segment <<<"$left")))" ] ||
  fail "not the segments of three ranks: $(segments)"
going_on=$(segments)
expect_exit 0 run -s ring "${small[@]}" --set cluster.ranks=2 --launcher mpi
[ "$(segments)" = "$going_on" ] || fail "a run changed what another one uses: $(segments)"
kill -TERM "$pid"
expect_end 1 "after the run was stopped"
[ "$(segments)" = "$left" ] || fail "left in /dev/shm: $(segments)"
