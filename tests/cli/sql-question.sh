#!/usr/bin/env bash
# sql answers a question about a stored run as a table, CSV and JSON, and every view can be asked.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ulysses -s ring --set cluster.ranks=3 -o kept.db
expect_exit 0 sql kept.db 'SELECT id, ulysses, ring FROM strategy ORDER BY id'
expect_out 'ring' 'ulysses'
expect_exit 0 sql kept.db 'SELECT id, ulysses, ring FROM strategy ORDER BY id' --csv
printf 'id,ulysses,ring\r\nring,1,3\r\nulysses,3,1\r\n' | cmp - "$out" || fail "the CSV differs"
expect_exit 0 sql kept.db 'SELECT sum(bytes_sent_intra_node) FROM rank_usage' --json
expect_json 'd["rows"] == [["27216"]] or int(d["rows"][0][0]) > 0' 'd["truncated"] is False'
for view in "$SOURCE_DIR"/schemas/views/*.sql; do
  expect_exit 0 sql kept.db "SELECT * FROM $(basename "$view" .sql)" --csv
done
