#!/usr/bin/env bash
# sql writes nothing and reads nothing else: every statement but one question is refused, and the file stays as it was.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -o kept.db
cp kept.db copy.db
while read -r statement; do
  spscope sql kept.db "$statement"
  [ "$code" -ne 0 ] || fail "was answered: $statement"
  expect_err 'error SPS-'
  expect_not_err 'SPS-200'
done < <(printf '%s\n' 'DELETE FROM run' 'DROP TABLE run' "UPDATE strategy SET name = 'x'" 'CREATE TABLE t (x)' \
  "ATTACH 'other.db' AS other" 'PRAGMA writable_schema = 1' "VACUUM INTO 'other.db'" 'SELECT 1; DELETE FROM run' \
  'SELECT * FROM missing' 'SELECT' 'no question' '' "SELECT load_extension('x')" "SELECT readfile('kept.db')" \
  "SELECT writefile('other.db', 'x')")
cmp kept.db copy.db || fail "the file was changed"
expect_files kept.db copy.db
expect_refused 'did you mean "strategy"?' -- sql kept.db 'SELECT * FROM strategi'
expect_refused 'strategy_summary' -- sql kept.db 'SELECT * FROM quite_another_thing'
expect_refused 'no such column: lable' 'did you mean "label"?' 'sqlite_master' -- sql kept.db 'SELECT lable FROM strategy'
expect_refused 'no such column: s.quite_another' 'strategy has ' 'label' -- sql kept.db 'SELECT s.quite_another FROM strategy s'
expect_refused 'SPS-157' 'DELETE' 'plain-sqlite' -- sql kept.db 'DELETE FROM run'
expect_refused 'SPS-157' 'UPDATE' -- sql kept.db "  update strategy SET name = 'x'"
expect_refused 'SPS-157' -- sql kept.db "SELECT load_extension('x')"
expect_refused 'SPS-157' 'SELECT' -- sql kept.db 'SELEC 1'
expect_exit 0 sql kept.db 'SELECT name, sql FROM sqlite_master'
expect_exit 2 sql missing.db 'SELECT 1'
expect_err 'SPS-150' 'missing.db'
