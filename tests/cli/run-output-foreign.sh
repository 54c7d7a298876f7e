#!/usr/bin/env bash
# A file of another program is never overwritten, also not with --force, whatever it looks like.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

lines notes.txt 'my notes'
printf 'SQLite format 3\0 and then something else' >broken.db
python3 -B -c 'import sqlite3; c = sqlite3.connect("other.db"); c.execute("CREATE TABLE t (x)"); c.commit()'
mkdir folder
for file in notes.txt broken.db other.db; do
  cp "$file" copy
  for force in '' --force; do
    expect_exit 2 run -s ring "${small[@]}" -o "$file" ${force:+"$force"}
    expect_err 'SPS-15' "$file"
    cmp "$file" copy || fail "$file was changed"
  done
done
expect_exit 2 run -s ring "${small[@]}" -o folder --force
expect_err 'folder'
rm copy
expect_files notes.txt broken.db other.db folder

# A database under the name of another format.
for name in report.html result.json tables.csv; do
  expect_refused 'SPS-158' "$name" 'FILE.db' -- run -s ring "${small[@]}" -o "$name"
  [ ! -e "$name" ] || fail "$name was made"
done

# An empty file holds nothing of anybody: it is in the way until --force says that it may go.
: >empty.db
expect_refused 'SPS-153' '"empty.db" exists, and is empty' '--force' -- run -s ring "${small[@]}" -o empty.db
[ ! -s empty.db ] || fail "the empty file was replaced without --force"
expect_exit 0 run -s ring "${small[@]}" -o empty.db --force
expect_exit 0 doctor empty.db
