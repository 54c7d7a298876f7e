#!/usr/bin/env bash
# With --json, every problem of a config is printed as JSON too, with its field and place; and so is any other fault of
# what was given. The text on standard error stays.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

lines bad.toml '[model]' 'preset = "wan-mni"' 'heads = -4' '[run]' 'mode = "exceute"' '[clustr]' 'ranks = 4'
for command in run plan advise "sweep --over run.seed=1,2 -o table.csv"; do
  # shellcheck disable=SC2086
  expect_exit 2 $command bad.toml --json
  expect_err 'error SPS-' 'bad.toml:2:10'
  expect_json 'set(d) == {"problems"}' 'len(d["problems"]) == 4' \
    '{(p["field"], p["line"], p["column"]) for p in d["problems"]} >= {("model.preset", 2, 10), ("model.heads", 3, 9), ("run.mode", 5, 8)}' \
    '[p for p in d["problems"] if p["line"] == 7 and "clustr.ranks" in p["field"]] != []' \
    'all(p["file"].endswith("bad.toml") and p["code"].startswith("SPS-") and p["message"] for p in d["problems"])' \
    '"wan-mini" in [p for p in d["problems"] if p["field"] == "model.preset"][0]["hint"]'
done

expect_exit 2 run --json --set run.mode=fast
expect_json 'd["problems"][0]["field"] == "run.mode"'
expect_exit 2 compare --json missing.db
expect_json 'len(d["problems"]) == 1' '"missing.db" in d["problems"][0]["message"]' 'd["problems"][0]["line"] is None'
if python3 -c 'import jsonschema' 2>/dev/null; then
  python3 - "$out" "$SOURCE_DIR/schemas/problems.schema.json" <<'END' || fail "not as the schema says"
import json, sys
import jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))
END
fi
