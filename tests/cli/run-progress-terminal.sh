#!/usr/bin/env bash
# On a terminal the progress line says what is done, fits the width, goes on by itself, and is gone before the first
# line of the result.
. "$(dirname -- "$0")/common.inc"

# on_terminal COLUMNS ARGUMENT...: the program on a terminal; what it draws is in `lines`, a line each.
on_terminal() {
  python3 -B - "$@" >"$out" <<'PYTHON' || fail "no terminal"
import fcntl, os, pty, struct, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, int(sys.argv[1]), 0, 0))
child = os.fork()
if child == 0:
    os.setsid()
    for descriptor in range(3):
        os.dup2(slave, descriptor)
    os.execv(os.environ["SPSCOPE"], ["spscope", *sys.argv[2:]])
os.close(slave)
try:
    while data := os.read(master, 65536):
        sys.stdout.buffer.write(data)
except OSError:  # the terminal has nobody left
    pass
sys.exit(os.waitpid(child, 0)[1] != 0)
PYTHON
  tr '\r' '\n' <"$out" | sed 's/\x1b\[K//' >lines
}

on_terminal 60 run -s usp:ulysses=3,ring=1 -s ring "${small[@]}" --set cluster.ranks=3 --set run.layers=3 \
  --set run.repeats=400
grep -qE '^[0-9]+ s(, about [0-9]+ s left)?: running usp u3 \(1 of 2\), layer [123] of 3' lines || fail "$(head -n 30 lines)"
! grep -E '^[0-9]+ s.{57}' lines || fail "a line is longer than the terminal"
# What follows the last time that the line is drawn: taken away, and only then the result.
tr '\r' '\n' <"$out" | grep -a -A1 '^[^a-z]* s.*: [a-z]*ing' | tail -n 1 >last
grep -q $'^\033\\[K' last || fail "the result stands on the progress line: $(cat -v last)"

# One plan that takes seconds: the line counts them, also before the first plan is there.
on_terminal 120 plan --set model.preset=wan2.1-t2v-14b --set cluster.preset=ndr-h100-xN --set cluster.nodes=64 \
  --set mask.pattern=paro --set mask.density=0.41 -s usp:ulysses=8,ring=64 -s ring
grep -q '^[0-9]* s: planning usp (1 of 2)' lines || fail "no planning: $(head -n 5 lines)"
[ "$(grep -c 'planning' lines)" -gt 3 ] || fail "planning does not go on: $(cat lines)"
