#!/usr/bin/env bash
# --help of the program names every command, and of every command prints its flags and its help text; --version prints.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 --version
grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' "$out" || fail "no version"
expect_exit 0 list commands --json
commands=$(python3 -B -c 'import json, sys; print(*(r["name"] for r in json.load(open(sys.argv[1]))["commands"]))' "$out")
expect_exit 0 --help
for command in $commands; do
  [ -s "$SOURCE_DIR/backend/cli/help/$command.md" ] || fail "$command has no help text"
  expect_exit 0 --help
  expect_out "$command"
  expect_exit 0 "$command" --help
  expect_out 'Usage: ' '--json' '--max-memory SIZE ' "$(head -n 1 "$SOURCE_DIR/backend/cli/help/$command.md" | cut -d ' ' -f 1-8)"
  expect_width 120
done
