#!/usr/bin/env bash
# What docs/accuracy.md says is predicted is what the program prints for the config of the row.
. "$(dirname -- "$0")/common.inc"

cat >rows.py <<'EOF'
import csv, sys
source, count = sys.argv[1], 10
scopes = {r["id"]: (r["scope"], int(r["steps"] or 1)) for r in csv.DictReader(open(source + "/bench/measured/end_to_end.csv"))}
cells = [[c.strip() for c in line.split("|")] for line in open(source + "/docs/accuracy.md")]
rows = [(c[1], c[8]) for c in cells if len(c) == 13 and c[1] in scopes]
for row, predicted in rows[:: max(1, len(rows) // count)][:count]:
    print(row, predicted, *scopes[row])
EOF
cat >check.py <<'EOF'
import json, sys
file, predicted, scope, steps = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
s = json.load(open(file))["strategies"][0]
outside = s["outside_layers_ns"] or 0
ns = {"e2e": s["end_to_end_ns"], "denoise": s["end_to_end_ns"] - outside, "step": (s["end_to_end_ns"] - outside) / steps}[scope]
printed = f"{ns / 1e9:.4g}"
sys.exit(0 if float(printed) == float(predicted) else f"the document says {predicted} s, the program {printed} s")
EOF
# The page says of each limit whether it is met, as its numbers say.
"$python" -B - "$SOURCE_DIR/docs/accuracy.md" <<'EOF' || fail "the summary says other than its numbers"
import re, sys
cells = {c[1].strip(): c for c in (line.split("|") for line in open(sys.argv[1])) if len(c) > 6}
value = [float(re.search(r"([0-9.]+) %", c).group(1)) for c in cells["source unseen"][3:7]]
said = ["met" in c for c in cells["wanted, unseen"][3:7]]
assert said == [value[0] <= 11, value[1] >= 80, value[2] <= 14, value[3] >= 85], (value, said)
assert value[0] <= 11 and value[1] >= 80 and value[2] <= 14 and value[3] >= 79, value
EOF

"$python" rows.py "$SOURCE_DIR" >rows
[ "$(wc -l <rows)" -eq 10 ] || fail "the document has other rows than the table"
"$MEASURED_CONFIGS" "$SOURCE_DIR/bench/measured/end_to_end.csv" configs >"$out"
expect_out 'wrote 300 configs to configs'
while read -r id predicted scope steps; do
  expect_exit 0 run "configs/$id.toml" --json
  "$python" check.py "$out" "$predicted" "$scope" "$steps" || fail "$id"
done <rows
