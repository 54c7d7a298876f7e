#!/usr/bin/env bash
# The launcher, mpirun and all ranks are killed at once: a later run removes the shared memory that they left. It removes
# nothing of a run that goes on, of another user, or of another kind.
# labels: mpi extended
. "$(dirname -- "$0")/common.inc"
need_mpi
find /dev/shm -mindepth 1 | sort >"$temporary/shared"
: >"$temporary/mine"  # folders in /dev/shm that this script makes
trap 'xargs -r rm -rf -- <"$temporary/mine"; rm -rf -- "$temporary"' EXIT
segments() { find /dev/shm -mindepth 1 | sort | comm -13 "$temporary/shared" -; }

begin() {
  : >"$err"
  code=0
  "$SPSCOPE" run -s ring --set cluster.ranks=2 --set run.mode=execute --set run.denoise_steps=5000 --set run.verify=off --headless --launcher mpi \
    -o "$1" >"$out" 2>"$err" &
  pid=$!
  wait_for_done 20 "$err"
}

begin kept.db
mapfile -t ranks < <(pgrep -f -- "$temporary/here/kept.db.collecting")
kill -KILL "$pid" "$(pgrep -P "$pid")" "${ranks[@]}"
wait "$pid" || true
segments | grep -q '/dev/shm/spscope_segments-[^/]*/' || fail "nothing was left, so nothing can be removed: $(ls -R /dev/shm)"

# Of another user, and of a collection in /dev/shm.
for name in spscope_segments-theirs spscope-run-000000; do
  mkdir "/dev/shm/$name$$" && echo "/dev/shm/$name$$" >>"$temporary/mine"
  touch "/dev/shm/$name$$/vader_segment"
done
if [ "$(id -u)" -eq 0 ]; then chown -R 65534 "/dev/shm/spscope_segments-theirs$$"; else rm -r "/dev/shm/spscope_segments-theirs$$"; fi
left=$(find /dev/shm -path "*$$*" | sort)

begin other.db
[ "$(segments | grep -c '/vader_segment')" -eq "$((2 + $(grep -c /vader_segment <<<"$left")))" ] ||
  fail "not the segments of two ranks: $(segments)"
going_on=$(segments)
expect_exit 0 run -s ring "${small[@]}" --set cluster.ranks=2 --launcher mpi
[ "$(segments)" = "$going_on" ] || fail "a run changed what another one uses: $(segments)"
kill -TERM "$pid"
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code after the run was stopped"
[ "$(segments)" = "$left" ] || fail "left in /dev/shm: $(segments)"
