#!/usr/bin/env bash
# Help of the program and of every command.
. "$(dirname -- "$0")/common.inc"

part everywhere
# --help of the program names every command, and of every command prints its flags and its help text; --version prints.
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

part flags
# A help text names no flag that its command, or the command of an example, does not have.
python3 -B "$scripts/check_help.py" "$SPSCOPE" "$SOURCE_DIR/backend/cli/help" || fail "help texts name flags that are not there"
