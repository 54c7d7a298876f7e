#!/usr/bin/env bash
# On a terminal the progress line counts layer passes, shows labels, and is gone before the first line of the result.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)' "$SPSCOPE" run -s usp:ulysses=3,ring=1 \
  "${small[@]}" --set cluster.ranks=3 --set run.layers=3 >"$out" || fail "no terminal"
expect_out 'of 3 layer passes: usp u3' $'\r\033[K'
# What follows the last time that the line is drawn: taken away, and only then the result.
tr "\r" "\n" <"$out" | grep -a -A1 'layer passes' | tail -n 1 >last
grep -q $'^\033\\[K' last || fail "the result stands on the progress line: $(cat -v last)"
