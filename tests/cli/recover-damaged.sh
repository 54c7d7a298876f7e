#!/usr/bin/env bash
# recover makes a sound file of a damaged one: the rows that SQLite can read are kept, what is missing is counted and named
# by doctor, report and compare, and no figure of a part is shown as if it were whole. The input stays as it is.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 -o kept.db
expect_exit 0 doctor kept.db
expect_out '0 sent and not stored'
cp kept.db damaged.db
python3 -B "$scripts/edit_store.py" damaged.db \
  'UPDATE chunk SET data = zeroblob(length(data)) WHERE chunk_id = (SELECT min(chunk_id) FROM chunk)'
sha256sum damaged.db >before
spscope doctor damaged.db
[ "$code" -eq 2 ] || fail "a chunk of zeros is readable"
expect_err 'SPS-156'

expect_exit 0 recover damaged.db -o saved.db --json
expect_json 'd["unreadable"] > 0' 'd["events"] > 0' 'd["lost"] == 0' 'len(d["notes"]) > 0' 'd["files_read"] == 1'
sha256sum --check --quiet before || fail "the damaged file was changed"
expect_exit 0 sql saved.db 'SELECT sum(sent) - sum(stored + dropped + unreadable + lost) AS off FROM ledger' --csv
expect_out '0'
expect_exit 0 doctor saved.db
expect_out 'unreadable' 'incident, lost'
expect_exit 0 compare saved.db
expect_out 'events are not in the file'
expect_exit 0 compare saved.db --json
expect_json 'd["recording"]["unreadable"] > 0' \
  'd["recording"]["events_sent"] == d["recording"]["events_stored"] + d["recording"]["unreadable"]' \
  'len(d["recording"]["incidents"]) > 0'
expect_exit 0 report saved.db
expect_out 'Recording'

# answer SQL: what it says of saved.db, one row a line.
answer() {
  expect_exit 0 sql saved.db "$1" --csv
  tail -n +2 "$out" | tr -d '\r'
}
# damaged STATEMENT...: saved.db is what recover makes of kept.db after them.
damaged() {
  cp kept.db damaged.db
  python3 -B "$scripts/edit_store.py" damaged.db 'PRAGMA ignore_check_constraints = 1' "$@"
  rm -f saved.db
  expect_exit 0 recover damaged.db -o saved.db
  expect_exit 0 doctor saved.db
}

# A row of run 2 is invalid, and those of run 1 are gone: neither has all its figures.
damaged "UPDATE rank_usage SET tiles = 'many' WHERE run_id = 2 AND rank = 0" "DELETE FROM rank_usage WHERE run_id = 1 AND rank = 1"
[ "$(answer 'SELECT count(*) FROM run WHERE finished')" = 0 ] || fail "a run without usage of a rank counts as finished"
damaged "UPDATE rank_usage SET tiles = 'many' WHERE run_id = 2 AND rank = 0"
[ "$(answer 'SELECT run_id FROM run WHERE finished')" = 1 ] || fail "a run that lost nothing counts as not finished"

# The figures of a run do not need the degrees of its mesh, which are then not known.
damaged "UPDATE strategy_mesh SET ring = 'x'"
[ "$(answer 'SELECT count(*) FROM run WHERE finished')" = 2 ] || fail "runs went with their meshes"
expect_exit 0 compare saved.db --json
expect_json 'all(s["resolved"]["ulysses"] is None and s["resolved"]["meshes"][0]["ring"] is None for s in d["strategies"])'
expect_exit 0 report saved.db

# Nothing says which events are of which repeat.
damaged "UPDATE rank_repeat SET begin_ns = 'early' WHERE run_id = 1 AND rank = 0"
[ "$(answer 'SELECT count(*) FROM repeat WHERE has_timeline')" = 0 ] || fail "there are timelines without their times"
expect_exit 0 compare saved.db

expect_refused 'SPS-153' 'kept.db' -- recover damaged.db -o kept.db
expect_refused 'SPS-180' 'damaged.db' -- recover damaged.db -o damaged.db --force
expect_refused 'SPS-150' 'absent.db' -- recover absent.db -o new.db
mkdir empty
expect_refused 'SPS-150' '"empty"' -- recover empty -o new.db
printf 'text' >text.db
expect_refused 'SPS-151' 'text.db' -- recover text.db -o new.db
[ ! -e new.db ] || fail "a file was written from nothing"
