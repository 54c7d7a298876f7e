#!/usr/bin/env bash
# Colours and a line that is drawn again only on a terminal that knows escape sequences: not with NO_COLOR or TERM=dumb,
# nor on the pseudo terminal that mpirun gives its processes.
. "$(dirname -- "$0")/common.inc"

on_terminal() { python3 -B "$(dirname -- "${BASH_SOURCE[0]}")/on_terminal.py" 100 "$SPSCOPE" "$@" >shown; }
has_escapes() { grep -q $'\033' shown; }
has_colors() { grep -q $'\033\\[[0-9;]*m' shown; }

run=(run -s ring "${small[@]}" --set cluster.ranks=2)
TERM=xterm on_terminal "${run[@]}"
has_colors || fail "no colours on a terminal"
TERM=xterm NO_COLOR=1 on_terminal "${run[@]}"
! has_colors || fail "colours despite NO_COLOR: $(cat -v shown)"
TERM=xterm NO_COLOR='' on_terminal "${run[@]}"
has_colors || fail "an empty NO_COLOR counts"
TERM=dumb on_terminal "${run[@]}"
! has_escapes || fail "escape sequences on a dumb terminal: $(cat -v shown)"
expect_exit 0 "${run[@]}" -o kept.db
TERM=xterm on_terminal compare kept.db
has_colors || fail "compare has no colours"
TERM=xterm OMPI_COMM_WORLD_SIZE=2 on_terminal compare kept.db
! has_escapes || fail "escape sequences below mpirun: $(cat -v shown)"
