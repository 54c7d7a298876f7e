#!/usr/bin/env bash
# A help text names no flag that its command, or the command of an example, does not have.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B "$scripts/check_help.py" "$SPSCOPE" "$SOURCE_DIR/backend/cli/help" || fail "help texts name flags that are not there"
