#!/usr/bin/env bash
# `spscope gui` becomes the program spscope-gui: that beside it, else the one on the $PATH, with the arguments as they are.
. "$(dirname -- "$0")/common.inc"

# app FOLDER: a program that prints its folder and its arguments, one a line, and ends with 7.
app() {
  mkdir -p "$1"
  printf '#!/bin/sh\necho "app of %s"\nprintf "<%%s>\\n" "$@"\nexit 7\n' "$1" >"$1/spscope-gui"
  chmod +x "$1/spscope-gui"
}
mkdir bin
cp "$SPSCOPE" bin/spscope
SPSCOPE=$PWD/bin/spscope
link='my run.db#timeline?s=dbsp&layer=3&step=1&t=1.2ms..1.9ms&rank=5&op=12'

PATH=/usr/bin:/bin expect_exit 2 gui
expect_err 'SPS-' 'spscope-gui' 'SPSCOPE_WITH_GUI' 'spscope report'

app path
PATH=$PWD/path:$PATH expect_exit 7 gui "$link" second.db
expect_out 'app of path' "<$link>" '<second.db>'

app bin
PATH=$PWD/path:$PATH expect_exit 7 gui
expect_out 'app of bin'

printf '#!/no/such/interpreter\n' >bin/spscope-gui
PATH=/usr/bin:/bin expect_exit 2 gui
expect_err 'cannot start' 'spscope-gui'
