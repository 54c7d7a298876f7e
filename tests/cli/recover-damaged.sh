#!/usr/bin/env bash
# recover makes a sound file of a damaged one, also of one that was cut short or has pages of zeros: the rows that SQLite can
# read are kept, what is missing is counted and named by doctor, report and compare, no event is made up, and no figure of a
# part is shown as if it were whole. Or the file is refused with the reason. The input stays as it is.
# labels: hostile extended
. "$(dirname -- "$0")/common.inc"

part rows
expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 -o kept.db
expect_exit 0 doctor kept.db
expect_out '0 sent and not stored'
edited kept.db 'UPDATE chunk SET data = zeroblob(length(data)) WHERE chunk_id = (SELECT min(chunk_id) FROM chunk)'
sha256sum damaged.db >before
expect_exit 0 recover damaged.db -o saved.db --json
expect_json 'd["unreadable"] > 0' 'd["events"] > 0' 'd["lost"] == 0' 'len(d["notes"]) > 0' 'd["files_read"] == 1'
sha256sum --check --quiet before || fail "the damaged file was changed"
expect_sql saved.db 0 'SELECT sum(sent) - sum(stored + dropped + unreadable + lost) FROM ledger'
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

# damaged STATEMENT...: saved.db is what recover makes of kept.db after them.
damaged() {
  edited kept.db 'PRAGMA ignore_check_constraints = 1' "$@"
  rm -f saved.db
  expect_exit 0 recover damaged.db -o saved.db
  expect_exit 0 doctor saved.db
}

# A row of figures is invalid: no run has all of its figures for certain.
damaged "UPDATE rank_usage SET tiles = 'many' WHERE run_id = 2 AND rank = 0"
expect_sql saved.db 0 'SELECT count(*) FROM run WHERE finished'

# Nor is a run kept whose mesh is lost.
damaged "UPDATE strategy_mesh SET ring = 'x' WHERE strategy_id = 1"
expect_sql saved.db 1 'SELECT count(*) FROM run'

# Nothing says which events are of which repeat.
damaged "UPDATE rank_repeat SET begin_ns = 'early' WHERE run_id = 1 AND rank = 0"
expect_sql saved.db 0 'SELECT count(*) FROM repeat WHERE has_timeline'
expect_exit 0 compare saved.db

expect_refused 'SPS-153' 'kept.db' -- recover damaged.db -o kept.db
expect_refused 'SPS-180' 'damaged.db' -- recover damaged.db -o damaged.db --force
expect_refused 'SPS-150' 'absent.db' -- recover absent.db -o new.db
mkdir empty
expect_refused 'SPS-150' '"empty"' -- recover empty -o new.db
printf 'text' >text.db
expect_refused 'SPS-151' 'text.db' -- recover text.db -o new.db
[ ! -e new.db ] || fail "a file was written from nothing"

part cut
expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --set run.repeats=300 -o kept.db
bytes=$(stat -c %s kept.db)
page=$((0x$(od -An -tx1 -j16 -N2 kept.db | tr -d ' ')))
pages=$((page * ((bytes - 32) / (page + 4))))  # bytes; behind them are the checksums: 4 bytes for each page, and 32
events() { expect_exit 0 sql "$1.db" 'SELECT rank, op_id, begin_ns, end_ns FROM event ORDER BY 1, 2, 3' --csv && sort "$out" >"$1.csv"; }
events kept

cut=$((pages * 9 / 10))
head -c "$cut" kept.db >damaged.db
expect_exit 0 recover damaged.db -o saved.db
expect_exit 0 doctor saved.db
events saved
[ -z "$(comm -13 kept.csv saved.csv)" ] || fail "events were made up"
expect_exit 0 sql saved.db "SELECT message FROM incident" --csv
expect_out "$cut of $pages bytes"
expect_sql saved.db "$(($(wc -l <kept.csv) - 1))" 'SELECT sum(sent) FROM ledger'

# Of the checksums a part is there: all pages are.
head -c $((bytes - 1)) kept.db >damaged.db
expect_refused 'SPS-156' 'cut short' 'spscope recover' -- compare damaged.db
expect_exit 0 recover damaged.db -o saved.db --force
events saved
cmp -s kept.csv saved.csv || fail "events are missing of a file that lacks checksums only"

# A file with a config and nothing that was measured is written with a note and exit code 1.
edited kept.db 'DELETE FROM run' 'DELETE FROM chunk' 'DELETE FROM track' 'DELETE FROM ledger' 'UPDATE plan SET data = zeroblob(64)'
rm -f saved.db
expect_exit 1 recover damaged.db -o saved.db
expect_err 'note: ' 'saved.db'
expect_exit 0 doctor saved.db

head -c 4096 kept.db >damaged.db
expect_refused 'SPS-156' "4096 of $pages bytes" -- recover damaged.db -o new.db

# A newer program's file is not read as ours.
edited kept.db "UPDATE meta SET value = '9' WHERE key = 'min_reader'"
expect_refused 'SPS-152' 'schema 9' -- recover damaged.db -o new.db
[ ! -e new.db ] || fail "a file was written from what cannot be read"
