#!/usr/bin/env bash
# A finished file that was copied alone into a read-only folder answers every command that reads as the original does, and
# the folder is afterwards what it was before: readers never write.
. "$(dirname -- "$0")/common.inc"

# Permissions do not bind root, a read-only mount does: it is made in a mount namespace of its own, where one may be had.
if [ -z "${SEAL:-}" ]; then
  for flags in "--mount" "--mount --map-root-user"; do
    # shellcheck disable=SC2086 # two flags
    if unshare $flags bash -c 'mount --bind . . && mount -o remount,bind,ro .' 2>/dev/null; then
      code=0
      # shellcheck disable=SC2086
      SEAL=mount unshare $flags bash "$scripts/read-only.sh" || code=$?
      exit "$code"
    fi
  done
fi

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --set run.repeats=2 -o made.db
expect_files made.db
mkdir sealed
cp made.db sealed/kept.db
if [ "${SEAL:-}" = mount ]; then
  mount --bind sealed sealed
  trap 'umount sealed; rm -rf -- "$temporary"' EXIT
  mount -o remount,bind,ro sealed
  ! touch sealed/new 2>/dev/null || fail "the mount is not read-only"
else
  chmod a-w sealed/kept.db sealed
  trap 'chmod u+w sealed; rm -rf -- "$temporary"' EXIT
fi
state() { # names, sizes and times of change; then the content
  find sealed -printf '%P %s %m %T@ %C@\n' | sort
  sha256sum sealed/kept.db
}
state >before

# same ARGUMENT...: FILE stands for the file; both answers are equal, but for its name.
same() {
  expect_exit 0 "${@/FILE/made.db}"
  cp -- "$out" "$temporary/expected"
  expect_exit 0 "${@/FILE/sealed/kept.db}"
  diff "$temporary/expected" "$out" >&2 || fail "the copy answers otherwise: $*"
  state | diff before - >&2 || fail "the folder was changed: $*"
}
same compare FILE --json
same compare FILE
same sql FILE 'SELECT rank, lane, op_id, begin_ns, end_ns FROM event ORDER BY 1, 2, 4, 5' --csv
same sql FILE 'SELECT name, sum(count), sum(total_ns) FROM event_stats GROUP BY name ORDER BY 1' --json
same report FILE --format json
for format in plain-sqlite store chrome; do
  expect_exit 0 export sealed/kept.db --format "$format" -o "exported.$format"
  [ -e "exported.$format" ] || fail "nothing was exported"
  state | diff before - >&2 || fail "the folder was changed by export --format $format"
done

# What prints the name of the file, or says that there is nothing to do.
expect_exit 0 report sealed/kept.db -o report.html
expect_exit 0 doctor sealed/kept.db
expect_out '0 sent and not stored'
expect_exit 0 recover sealed/kept.db -o recovered.db
expect_refused 'SPS-150' -- watch sealed/kept.db --once
state | diff before - >&2 || fail "the folder was changed"
