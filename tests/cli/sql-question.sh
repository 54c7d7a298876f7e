#!/usr/bin/env bash
# sql answers questions about a stored run, those of schemas/questions.md too.
. "$(dirname -- "$0")/common.inc"

part question
# sql answers a question about a stored run as a table, CSV and JSON, and every view can be asked.
expect_exit 0 run "${small[@]}" -s ulysses -s ring --set cluster.ranks=3 --set run.repeats=3 -o kept.db
question='SELECT id, m.ulysses, m.ring FROM strategy JOIN strategy_mesh m USING (strategy_id) ORDER BY id'
expect_exit 0 sql kept.db "$question"
expect_out 'ring' 'ulysses'
expect_exit 0 sql kept.db "$question" --csv
printf 'id,ulysses,ring\r\nring,1,3\r\nulysses,3,1\r\n' | cmp - "$out" || fail "the CSV differs"
expect_exit 0 sql kept.db "SELECT NULL AS absent, 'a,\"b' AS quoted"
expect_out 'absent' 'NULL' 'a,"b'
expect_exit 0 sql kept.db "SELECT NULL AS absent, 'a,\"b' AS quoted" --csv
printf 'absent,quoted\r\n,"a,""b"\r\n' | cmp - "$out" || fail "the CSV differs"
expect_exit 0 sql kept.db "SELECT NULL AS absent, 'a,\"b' AS quoted" --json
expect_json 'd["columns"] == ["absent", "quoted"] and d["rows"] == [[None, "a,\"b"]]'
expect_exit 0 sql kept.db 'SELECT sum(bytes_sent_intra_node) FROM rank_usage' --json
expect_json 'd["rows"][0][0] > 0' 'd["truncated"] is False'
for view in "$SOURCE_DIR"/schemas/views/*.sql; do
  expect_exit 0 sql kept.db "SELECT * FROM $(basename "$view" .sql)" --csv
done

# Ranks begin and end each repeat within its times, which theirs make; in each, every operation has one event.
expect_exit 0 sql kept.db "SELECT count(*) > 0, count(*) = sum(p.begin_ns IS w.begin_ns AND p.end_ns IS w.end_ns AND ranks = 3)
  FROM repeat p LEFT JOIN (SELECT run_id, repeat, sum(ranks) AS ranks, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns
  FROM rank_repeat GROUP BY 1, 2) w USING (run_id, repeat)" --json
expect_json 'd["rows"] == [[1, 1]]'
expect_exit 0 sql kept.db "SELECT count(*) > 0, sum(n <> 1 OR repeat IS NULL) FROM
  (SELECT repeat, count(*) AS n FROM event GROUP BY run_id, repeat, op_id)" --json
expect_json 'd["rows"] == [[1, 0]]'

# Of a long value a table shows the beginning, at once; CSV and JSON give the whole.
long="SELECT printf('%.*c', 8000000, 'x') AS text, zeroblob(2000000) AS bytes"
begin=$SECONDS
expect_exit 0 sql kept.db "$long"
expect_out 'xxx' "x'0000" '... (4000003 bytes)'
[ "$(stat -c %s "$out")" -lt 10000 ] || fail "a table of one row has $(stat -c %s "$out") bytes"
[ $((SECONDS - begin)) -lt 10 ] || fail "the beginning of a long value took more than ten seconds"
expect_exit 0 sql kept.db "$long" --csv
[ "$(stat -c %s "$out")" -gt 12000000 ] || fail "CSV does not hold the whole value"
expect_exit 0 sql kept.db "$long" --json
expect_json 'len(d["rows"][0][0]) == 8000000' 'len(d["rows"][0][1]) == 4000003'
expect_exit 0 sql kept.db "SELECT printf('%.*c', 399, 'x') || 'äöü' || printf('%.*c', 100, 'y') AS text"
iconv -f utf-8 -t utf-8 "$out" >again || fail "a long value was cut inside a character"

part recipes
# The questions of schemas/questions.md find something in a run that happened, but for what is missing (10) and for what
# collectors saw (11 to 13).
expect_exit 0 run "${small[@]}" -s ulysses -s ring --set cluster.ranks=3 --set run.repeats=2 -o kept.db
python3 -B - "$SOURCE_DIR/schemas/questions.md" <<'PYTHON' || fail "a question has no answer"
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
