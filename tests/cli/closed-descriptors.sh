#!/usr/bin/env bash
# Files are written and read the same with standard input closed, where SQLite puts /dev/null in its place.
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=2 -o kept.db <&-
for command in compare report doctor; do expect_exit 0 "$command" kept.db <&-; done
expect_exit 0 sql kept.db 'SELECT count(*) FROM event' --csv <&-
expect_exit 0 export kept.db --format plain-sqlite -o plain.db <&-
expect_exit 0 recover kept.db -o recovered.db <&-
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=2 -o kept.db --force <&-
expect_files kept.db plain.db recovered.db
