#!/usr/bin/env bash
# doctor FILE reads every part of a stored run, and lists what it cannot read.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 -o kept.db
expect_exit 0 doctor kept.db
expect_out '2 with 2 plans and 2 timelines, all readable'
head -c $(($(stat -c %s kept.db) / 2)) kept.db >damaged.db
for command in doctor compare report; do
  expect_exit 2 "$command" damaged.db
  expect_err 'SPS-15'
done

# Chunks that cannot be read are all counted, and the first ones named with what is wrong with them.
expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=4 --set run.repeats=3 -o many.db
expect_exit 0 sql many.db 'SELECT count(*) AS chunks FROM chunk' --csv
chunks=$(tail -n 1 "$out" | tr -d '\r')
[ "$chunks" -ge 8 ] || fail "only $chunks chunks to damage"
python3 -B "$scripts/edit_store.py" many.db 'UPDATE chunk SET data = zeroblob(length(data)) WHERE chunk_id > 2' \
  'PRAGMA ignore_check_constraints = ON' 'UPDATE chunk SET count = 4097 WHERE chunk_id = 1'
spscope doctor many.db
[ "$code" -eq 2 ] || fail "exit code $code for damaged chunks"
expect_err 'SPS-156' "$((chunks - 1)) chunks" 'spscope recover'
expect_out "$((chunks - 1)) of $chunks chunks cannot be read" '! chunk 1 ' 'count = 4097' '! chunk 3 ' 'checksum is wrong' \
  '! chunk 6 ' "and $((chunks - 6)) more chunks" 'that need what is damaged'
expect_not_out '! chunk 2 '
