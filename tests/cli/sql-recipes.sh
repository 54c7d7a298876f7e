#!/usr/bin/env bash
# The questions of docs/file-format.md find something in a run that happened, but for what is missing (10) and for what
# collectors saw (11 to 13).
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" -s ulysses -s ring --set cluster.ranks=3 --set run.repeats=2 -o kept.db
python3 -B - "$SOURCE_DIR/docs/file-format.md" <<'PYTHON' || fail "a question has no answer"
import os, re, subprocess, sys
RECIPE = re.compile(r"^### (\d+)\. ([^\n]*)\n(?:(?!^#).)*?^```sql\n(.*?)```$", re.MULTILINE | re.DOTALL)
recipes = RECIPE.findall(open(sys.argv[1], encoding="utf-8").read())
assert [int(number) for number, *_ in recipes] == list(range(1, 14)), recipes
for number, title, sql in recipes:
    said = subprocess.run([os.environ["SPSCOPE"], "sql", "kept.db", sql, "--csv"], stdout=subprocess.PIPE, text=True, check=True)
    rows = len(said.stdout.splitlines()) - 1
    print(number, title, rows)
    assert rows > 0 or int(number) >= 10, title
PYTHON
