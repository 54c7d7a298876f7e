#!/usr/bin/env bash
# recover makes a sound file of a damaged one: what can be read is kept, what cannot is counted and named by doctor,
# report and compare. The input stays as it is.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 -o kept.db
expect_exit 0 doctor kept.db
expect_out 'right in all chunks' '0 sent and not stored'
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
expect_out 'right in all chunks' 'unreadable' 'incident, lost'
expect_exit 0 compare saved.db
expect_out 'events are not in the file'
expect_exit 0 compare saved.db --json
expect_json 'd["recording"]["unreadable"] > 0' \
  'd["recording"]["events_sent"] == d["recording"]["events_stored"] + d["recording"]["unreadable"]' \
  'len(d["recording"]["incidents"]) > 0'
expect_exit 0 report saved.db
expect_out 'Recording'

# A strategy whose row is gone takes its figures with it, and not its events.
cp kept.db damaged.db
python3 -B "$scripts/edit_store.py" damaged.db "DELETE FROM strategy WHERE name = 'ulysses'"
rm saved.db
expect_exit 0 recover damaged.db -o saved.db
expect_err '1 layer passes are of a strategy whose row is lost'
expect_exit 0 sql saved.db 'SELECT s.name, r.finished, count(*) > 0 FROM event e JOIN run r ON r.run_id = e.run_id
  LEFT JOIN strategy s ON s.strategy_id = r.strategy_id GROUP BY r.run_id' --csv
expect_out 'ring,1,1' 'unknown,0,1'
expect_exit 0 compare saved.db
expect_out 'ring'
rm damaged.db
expect_exit 0 recover saved.db -o damaged.db
expect_not_err 'row is lost'

# Cut short: what is left is read.
size=$(stat -c %s kept.db)
head -c $((size * 3 / 4)) kept.db >cut.db
spscope recover cut.db -o from-cut.db
if [ "$code" -eq 0 ]; then
  expect_exit 0 doctor from-cut.db
else
  expect_err 'SPS-'
fi

expect_refused 'exists' -- recover damaged.db -o kept.db
expect_refused 'both read and written' -- recover damaged.db -o damaged.db --force
expect_refused 'no such file' -- recover absent.db -o new.db
mkdir empty
expect_refused 'holds no shards' -- recover empty -o new.db
printf 'text' >text.db
expect_refused 'not a file of spscope' -- recover text.db -o new.db
[ ! -e new.db ] || fail "a file was written from nothing"
