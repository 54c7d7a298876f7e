#!/usr/bin/env bash
# Exports of a stored run: formats, places, and stores of a range of time.
. "$(dirname -- "$0")/common.inc"

part place
expect_exit 0 run "${small[@]}" -s ring -o kept.db
expect_exit 0 export kept.db --format chrome -o events.json
expect_err 'events.json'
# A folder is never replaced, and no flag is offered that would not do it.
mkdir mine
expect_refused 'SPS-151' '-o mine/NAME' -- export kept.db --format chrome -o mine
expect_not_err '--force'
# CSV is what sql prints.
expect_refused 'no export format "csv"' 'spscope sql FILE' '--csv' -- export kept.db --format csv -o tables

part range
# A store of a range of time: every command reads it, its events are those of the whole file in that range, and ranges
# that hold nothing are refused with that of the file.
expect_exit 0 run "${small[@]}" -s ring -s ulysses --set run.mode=simulate --set run.layers=2 --set cluster.ranks=3 -o whole.db
sum=$(sha256sum whole.db)
answer() { expect_exit 0 sql "$1" "$2" --csv && tail -n +2 "$out" | tr -d '\r'; }
# A range inside the first repeat cuts it; one over all keeps it.
begin=$(answer whole.db 'SELECT min(begin_ns) + (max(end_ns) - min(begin_ns)) / 4 FROM event')
end=$(answer whole.db 'SELECT min(begin_ns) + (max(end_ns) - min(begin_ns)) / 2 FROM event')
expect_exit 0 export whole.db --format store --range "${begin}ns..${end}ns" -o part.db
columns="rank, lane, begin_ns, end_ns, op_id, name, category, entry_ns, transfer_begin_ns, bytes"
inside="begin_ns < $end AND (end_ns > $begin OR (begin_ns = end_ns AND begin_ns >= $begin))"
wanted=$(answer whole.db "SELECT $columns FROM event WHERE $inside ORDER BY $columns")
[ -n "$wanted" ] || fail "the range holds no events"
[ "$wanted" = "$(answer part.db "SELECT $columns FROM event ORDER BY $columns")" ] || fail "other events in the range"
expect_sql part.db 1 'SELECT sum(stored = sent) = count(*) FROM ledger'
expect_sql part.db 0 "SELECT sum(has_timeline <> (begin_ns >= $begin AND end_ns <= $end)) FROM repeat"
expect_exit 0 doctor part.db
expect_exit 0 compare part.db
expect_exit 0 report part.db -o part.html
[ "$(answer whole.db 'SELECT run_id, repeat, makespan_ns FROM repeat')" = \
  "$(answer part.db 'SELECT run_id, repeat, makespan_ns FROM repeat')" ] || fail "other makespans"

expect_refused 'SPS-153' 'add --force' -- export whole.db --format store --range 0..1s -o part.db
expect_exit 0 export whole.db --format store --range 0..1s -o part.db --force
[ "$(answer whole.db 'SELECT count(*) FROM event')" = "$(answer part.db 'SELECT count(*) FROM event')" ] || fail "not all"
expect_refused 'ends before it begins' 'the events of "whole.db" are in' -- export whole.db --format store --range 2ms..1ms -o x.db
expect_refused 'is empty' 'the events of "whole.db" are in' -- export whole.db --format store --range 2ms..2ms -o x.db
expect_refused "holds none of the file's time" 'the events of "whole.db" are in' -- \
  export whole.db --format store --range 100s..200s -o x.db
expect_refused 'is not a range of time' '1.2ms..1.9ms' -- export whole.db --format store --range 2ms -o x.db
expect_refused 'has no range' '--format store' -- export whole.db --format chrome --range 0..1ms -o x.json
expect_refused 'an export of itself' 'another place' -- export whole.db --format store -o whole.db --force
[ ! -e x.db ] || fail "a refused range left a file"
[ "$sum" = "$(sha256sum whole.db)" ] || fail "the stored run was changed"
