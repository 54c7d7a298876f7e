#!/usr/bin/env bash
# recover of a finished file of which rows are lost without a trace: what is left of a layer pass is not shown as whole,
# timelines end where the times of a rank are missing, and a tree of pages without an end is read to an end.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s ulysses -s usp --set cluster.ranks=2 -o kept.db

# answer SQL: what it says of saved.db, one row a line.
answer() {
  expect_exit 0 sql saved.db "$1" --csv
  tail -n +2 "$out" | tr -d '\r'
}
# damaged SQL: damaged.db is kept.db after it, and saved.db what recover makes of that.
damaged() {
  cp kept.db damaged.db
  python3 - "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect("damaged.db")
db.executescript("PRAGMA ignore_check_constraints = 1;" + sys.argv[1])
END
  rm -f saved.db
  expect_exit 0 recover damaged.db -o saved.db
  expect_exit 0 doctor saved.db
}

# One row of run 3 makes no sense, and those of run 1 are gone.
for gone in "rank_usage WHERE run_id = 1 AND rank = 1" "traffic WHERE run_id = 1 AND src = 0" "repeat WHERE run_id = 1"; do
  damaged "UPDATE rank_usage SET tiles = 'many' WHERE run_id = 3 AND rank = 0; DELETE FROM $gone"
  [ "$(answer 'SELECT run_id FROM run WHERE finished')" = 2 ] ||
    fail "a run without $gone counts as finished"
done

damaged "UPDATE rank_repeat SET begin_ns = 'early' WHERE run_id = 1 AND rank = 0"
[ "$(answer 'SELECT DISTINCT run_id FROM repeat WHERE has_timeline ORDER BY 1' | xargs)" = "2 3" ] ||
  fail "the timelines of the runs are not those of which all times are known"
expect_exit 0 compare saved.db

# An index whose pages all lead to the next one, 200 times each: 200^7 rows.
cp kept.db damaged.db
python3 - <<'END'
import sqlite3, struct
roots = dict(sqlite3.connect("file:damaged.db?mode=ro", uri=True).execute("SELECT name, rootpage FROM sqlite_master"))
pages = bytearray(open("damaged.db", "rb").read())
size = struct.unpack_from(">H", pages, 16)[0]
first = len(pages) // size + 1

def page(kind, cell, header):
    at = size - 200 * len(cell)
    pointers = b"".join(struct.pack(">H", at + i * len(cell)) for i in range(200))
    head = struct.pack(">BHHHB", kind, 0, 200, at, 0) + header
    return (head + pointers).ljust(at, b"\0") + 200 * cell

record = bytes([9, 5, 1, 1, 1, 1, 7, 0, 0, 9])
for i in range(7):
    below = struct.pack(">I", first + i)
    made = page(2, below + record, below)
    if i == 0:
        place = (roots["sqlite_autoindex_track_1"] - 1) * size
        pages[place:place + size] = made
    else:
        pages += made
pages += page(10, record, b"")
table = (roots["track"] - 1) * size
pages[table:table + size] = bytes(size)
struct.pack_into(">I", pages, 28, len(pages) // size)
open("damaged.db", "wb").write(pages)
END
rm -f saved.db
expect_exit 0 recover damaged.db -o saved.db
[ "$(answer 'SELECT count(*) FROM track')" -lt 100 ] || fail "tracks were made up"
