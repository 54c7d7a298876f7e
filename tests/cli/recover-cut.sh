#!/usr/bin/env bash
# recover of a file that was cut short, or of which pages are zeros: either the rows that SQLite can read make a file that
# every command reads, whose ledger balances and which holds no event that was not there, or the file is refused with the
# reason and nothing is written.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --set run.repeats=300 -o kept.db
bytes=$(stat -c %s kept.db)
count=$(((bytes - 32) / 4100))
pages=$((count * 4096))  # bytes; behind them are the checksums: 32 bytes, and 4 for each page of 4,096 bytes
expect_exit 0 sql kept.db 'SELECT rank, op_id, begin_ns, end_ns FROM event ORDER BY 1, 2, 3' --csv
cp "$out" kept.csv

# recovered NAME: of damaged.db. The exit code is left in `code`: 1 is a file without anything that was measured.
made=0
recovered() {
  rm -f saved.db
  spscope recover damaged.db -o saved.db
  if [ "$code" -eq 1 ]; then
    expect_out ' 0 events'
    return
  fi
  if [ "$code" -ne 0 ]; then
    [ "$code" -eq 2 ] || fail "$1: exit code $code"
    grep -qE '^error SPS-15[016]: .*damaged.db' "$err" || fail "$1: the error does not name the file"
    [ ! -e saved.db ] || fail "$1: a file was made of nothing"
    code=2
    return
  fi
  made=$((made + 1))
  expect_exit 0 doctor saved.db
  expect_exit 0 sql saved.db 'SELECT count(*) FROM ledger WHERE sent != stored + dropped + unreadable + lost' --csv
  [ "$(tail -n 1 "$out" | tr -d '\r')" = 0 ] || fail "$1: the ledger does not balance"
  expect_exit 0 sql saved.db 'SELECT rank, op_id, begin_ns, end_ns FROM event ORDER BY 1, 2, 3' --csv
  cp "$out" saved.csv
  [ -z "$(comm -13 <(sort kept.csv) <(sort saved.csv))" ] || fail "$1: events were made up"
  code=0
}

for cut in 100 $((bytes / 2)); do
  head -c "$cut" kept.db >damaged.db
  recovered "cut at $cut"
done
for cut in $((pages * 9 / 10)) $((pages - 1)); do
  head -c "$cut" kept.db >damaged.db
  recovered "cut at $cut"
  [ "$code" -eq 0 ] || fail "nothing was kept of $cut of $bytes bytes"
  [ "$(wc -l <saved.csv)" -gt 1 ] || fail "no event was kept of $cut of $bytes bytes"
  expect_exit 0 sql saved.db "SELECT message FROM incident" --csv
  expect_out "$cut of $pages bytes"
  expect_exit 0 sql saved.db 'SELECT sum(sent) FROM ledger' --csv
  [ "$(tail -n 1 "$out" | tr -d '\r')" = "$(($(wc -l <kept.csv) - 1))" ] || fail "events are missing uncounted"
done

# Of the checksums a part is there: all pages are.
head -c $((bytes - 1)) kept.db >damaged.db
expect_refused 'SPS-156' 'cut short' 'spscope recover' -- compare damaged.db
recovered "cut checksums"
cmp -s <(sort kept.csv) <(sort saved.csv) || fail "events are missing of a file that lacks checksums only"

# Every fourth page, to be quick.
for page in $(seq 1 4 $((bytes / 4096 - 1))); do
  cp kept.db damaged.db
  dd if=/dev/zero of=damaged.db bs=4096 seek="$page" count=1 conv=notrunc status=none
  recovered "page $page of zeros"
done
[ "$made" -gt 10 ] || fail "only $made files were made"

# A file with a config and nothing that was measured is written with a note and exit code 1.
cp kept.db damaged.db
python3 -B "$scripts/edit_store.py" damaged.db 'DELETE FROM run' 'DELETE FROM chunk' 'DELETE FROM track' 'DELETE FROM ledger' \
  'UPDATE plan SET data = zeroblob(64)'
rm -f saved.db
expect_exit 1 recover damaged.db -o saved.db
expect_err 'note: ' 'saved.db'
expect_exit 0 doctor saved.db

cp kept.db damaged.db
dd if=/dev/zero of=damaged.db bs=100 count=1 conv=notrunc status=none
expect_refused 'SPS-151' 'bytes 0 to 15' -- recover damaged.db -o new.db
head -c 4096 kept.db >damaged.db
expect_refused 'SPS-156' "4096 of $pages bytes" -- recover damaged.db -o new.db
: >damaged.db
expect_refused 'SPS-150' 'damaged.db' -- recover damaged.db -o new.db
expect_refused 'SPS-150' 'damaged.db' -- compare damaged.db

# A newer program's file is not read as ours.
cp kept.db newer.db
python3 -B "$scripts/edit_store.py" newer.db "UPDATE meta SET value = '9' WHERE key = 'min_reader'"
expect_refused 'SPS-152' 'schema 9' -- recover newer.db -o new.db
head -c $((bytes * 9 / 10)) newer.db >damaged.db
expect_refused 'SPS-152' 'schema 9' -- recover damaged.db -o new.db
[ ! -e new.db ] || fail "a file was written from what cannot be read"
