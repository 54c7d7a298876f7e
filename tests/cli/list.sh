#!/usr/bin/env bash
# Every list has rows with what they say of each; help of the program and of every command has its flags; doctor says what
# machine and build can do.
. "$(dirname -- "$0")/common.inc"

part everything
# Every list prints rows, and as JSON says name and summary of each; parameters have type, default, unit and help.
for what in strategies patterns models clusters formats collectors commands keys figures; do
  expect_exit 0 list $what
  [ "$(wc -l <"$out")" -ge 2 ] || fail "list $what is short"
  expect_width 120
  expect_exit 0 list $what --json
  expect_json 'd["schema_version"] == 1' "len(d['$what']) >= 2" \
    "all(r['name'] for r in d['$what'])" "len({r['name'] for r in d['$what']}) == len(d['$what'])"
done
expect_exit 0 list strategies --json
expect_json '{"single", "ulysses", "ring", "usp"} <= {r["name"] for r in d["strategies"]}' \
  'all({"name", "type", "default", "unit", "help"} <= set(p) for r in d["strategies"] for p in r["parameters"])'
expect_exit 0 list keys --json
expect_json 'any(r["name"] == "mask.density" and r["range"] == [0, 1] for r in d["keys"])' \
  'any(r["name"] == "strategy.usp.ulysses" for r in d["keys"])' \
  'any(r["name"] == "run.mode" and "simulate" in r["choices"] for r in d["keys"])'
expect_refused 'did you mean "models"?' -- list modles
expect_exit 0 list formats
expect_out 'files that masks are read from' 'formats that a stored run is written in'
# On a narrow terminal lists and help are set narrower.
for of in 'list keys' 'list patterns' 'run --help'; do
  # shellcheck disable=SC2086  # words
  python3 -B "$scripts/on_terminal.py" 80 "$SPSCOPE" $of >"$out"
  expect_width 80
done

part keys
# list shows every key with its default and what it may be, parameters by the key that sets them.
expect_exit 0 list keys
expect_out 'default 0.4, (0, 1]' 'default "execute", one of execute, project, simulate' 'mask.sparge.cdf' 'default 64, [1, 384] tokens'
expect_exit 0 list patterns
expect_out 'mask.sparge.cdf = 0.9'
expect_exit 0 list clusters
expect_out 'one node only'

part everywhere
# --help of the program names every command, and of every command prints its flags and its help text; --version prints.
expect_exit 0 --version
grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' "$out" || fail "no version"
expect_exit 0 list commands --json
commands=$(python3 -B -c 'import json, sys; print(*(r["name"] for r in json.load(open(sys.argv[1]))["commands"]))' "$out")
for command in $commands; do
  [ -s "$SOURCE_DIR/backend/cli/help/$command.md" ] || fail "$command has no help text"
  expect_exit 0 --help
  expect_out "$command"
  expect_exit 0 "$command" --help
  expect_out 'Usage: ' '--json' '--max-memory SIZE ' "$(head -n 1 "$SOURCE_DIR/backend/cli/help/$command.md" | cut -d ' ' -f 1-8)"
  expect_width 120
done

part flags
# A help text names no flag that its command, or the command of an example, does not have.
python3 -B "$scripts/check_help.py" "$SPSCOPE" "$SOURCE_DIR/backend/cli/help" || fail "help texts name flags that are not there"

part doctor
# doctor says what machine and build can do, and as JSON the same in a form that programs read.
expect_exit 0 doctor
expect_out 'cores' 'vector target' 'fp32 peak' "$TMPDIR"
expect_exit 0 doctor --json
expect_json 'all({"name", "value", "ok"} == set(f) and f["value"].count(": ") < 2 for f in d["findings"])' \
  'any(f["name"] == "cores" and int(f["value"]) > 0 for f in d["findings"])'
TMPDIR=/missing expect_exit 0 doctor --json
expect_json 'all(f["ok"] == (f["name"] != "scratch files") for f in d["findings"])'
