#!/usr/bin/env bash
# doctor FILE reads every part of a stored run; a damaged one is an error, not a crash, and never "all readable".
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 -o kept.db
expect_exit 0 doctor kept.db
expect_out '2 with 2 plans and 2 timelines, all readable'
damage() {
  for command in doctor compare report; do
    spscope "$command" damaged.db
    [ "$code" -eq 2 ] || fail "exit code $code of $command, not 2"
    expect_err 'SPS-15'
  done
}
size=$(stat -c %s kept.db)
for keep in 0 50 100 4096 $((size / 2)) $((size - 100)); do
  head -c "$keep" kept.db >damaged.db
  damage
done
python3 -B -c 'import sqlite3; c = sqlite3.connect("damaged.db"); c.execute("CREATE TABLE t (x)"); c.commit()'  || true
printf 'not a database' >damaged.db
damage
cp kept.db damaged.db
python3 -B "$scripts/edit_store.py" damaged.db 'UPDATE plan SET data = zeroblob(64)'
spscope doctor damaged.db
[ "$code" -eq 2 ] || fail "a plan of zeros is readable"
expect_err 'SPS-156'
