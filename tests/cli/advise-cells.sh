#!/usr/bin/env bash
# Advice on models x clusters x masks x engines: on 30 lines, complete in its first sentence.
# labels: wide
# cost: 5
. "$(dirname -- "$0")/common.inc"

"$python" -B "$scripts/advise_cells.py" "$SPSCOPE" "$SOURCE_DIR" "${WIDE:-0}" || fail "a cell is not answered as it should be"
