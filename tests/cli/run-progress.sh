#!/usr/bin/env bash
# --progress=json prints one object a line on standard error, and nothing else goes there: every phase, counts that are never
# above their totals, a time that is left once it is known, and last how the run ended. On a terminal a line says what is done,
# fits the width, goes on by itself, and is gone before the first line of the result; colours and escape sequences are only
# there for terminals that know them.
. "$(dirname -- "$0")/common.inc"

check_lines() {
  python3 -B - "$err" "$@" <<'PYTHON' || fail "progress is not as expected"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
KEYS = ["phase", "strategy", "label", "strategy_number", "strategies", "layer", "layers", "denoise_step", "denoise_steps",
        "warmup", "warmups", "repeat", "repeats", "ranks_measured", "ranks_to_measure", "done", "total", "elapsed_s",
        "eta_s", "shards"]
total, phases = int(sys.argv[2]), sys.argv[3].split()
for before, d in zip(lines[:1] + lines, lines):
    assert list(d) == KEYS + ([] if d is not lines[-1] else ["exit_code", "failure", "out"]), d
    for part, whole in [("done", "total"), ("warmup", "warmups"), ("repeat", "repeats"),
                        ("ranks_measured", "ranks_to_measure")]:
        assert 0 <= d[part] <= d[whole], d
    assert d["layer"] < d["layers"] and d["denoise_step"] < d["denoise_steps"] and d["total"] == total, d
    assert d["done"] >= before["done"] and d["elapsed_s"] >= before["elapsed_s"], (before, d)
    assert (d["strategy_number"] is None) == (d["strategy"] == ""), d
    assert d["eta_s"] >= 0 if d["eta_s"] is not None else d["done"] < d["strategies"], d
assert lines[0]["eta_s"] is None
assert lines[-1]["phase"] == "done" and lines[-1]["done"] == total and lines[-1]["eta_s"] == 0
assert lines[-1]["exit_code"] == 0 and lines[-1]["failure"] is None and lines[-1]["out"] is None, lines[-1]
seen = list(dict.fromkeys(d["phase"] for d in lines))
assert seen == phases, seen
PYTHON
}
expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --set run.layers=3 --set run.warmup=2 \
  --set run.repeats=3 --progress=json --json
check_lines 6 'input plan reference run check merge done'
expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --set run.mode=project --progress=json --json
check_lines 2 'input plan run merge done'
# What no strategy may run is over when its turn comes.
expect_exit 0 run "${small[@]}" -s ring -s usp:ulysses=7,ring=1 --set cluster.ranks=2 --set run.mode=simulate \
  --progress=json --json
check_lines 2 'input plan run merge done'

# Repeats, and phases that are shorter than a second, are not each told.
expect_exit 0 run "${small[@]}" -s ring --set run.repeats=600 --set run.verify=off --progress=json
[ "$(wc -l <"$err")" -lt 300 ] || fail "a line for each repeat"
begin=$SECONDS
expect_exit 0 run "${small[@]}" -s ring --set run.mode=simulate --set run.denoise_steps=1000 --progress=json
told=$(wc -l <"$err")
if [ "$told" -lt 100 ] || [ "$told" -gt $((110 + SECONDS - begin)) ]; then
  fail "$told lines in $((SECONDS - begin)) s"
fi

# expect_last CODE OUT: the last line says why a run failed, and what it left.
expect_last() {
  python3 -B - "$err" "$@" <<'PYTHON' || fail "the last line is not as expected"
import json, sys
*lines, last = [json.loads(line) for line in open(sys.argv[1])]
assert last["exit_code"] == 2 and last["failure"]["code"] == sys.argv[2] and last["failure"]["message"], last
assert last["out"] == (sys.argv[3] or None) and last["eta_s"] == 0, last
assert all("exit_code" not in line for line in lines)
PYTHON
}
expect_exit 2 run "${small[@]}" -s ring -s rng --set run.dtype=fp8 --headless
expect_last SPS-005 ''
expect_err 'did you mean' '--set run.dtype=fp8'
expect_exit 2 run "${small[@]}" -s usp:ulysses=7,ring=1 --headless -o kept.db
expect_last SPS-100 kept.db
expect_exit 2 run "${small[@]}" -s ring --headless -o kept.db
expect_last SPS-153 ''

part terminal
# on_terminal COLUMNS ARGUMENT...: the program on a terminal; what it draws is in `shown`, and in `lines`, a line each.
on_terminal() {
  python3 -B "$scripts/on_terminal.py" "$1" "$SPSCOPE" "${@:2}" >shown || fail "no terminal"
  tr '\r' '\n' <shown | sed 's/\x1b\[K//' >lines
}
on_terminal 60 run -s usp:ulysses=3,ring=1 -s ring "${small[@]}" --set cluster.ranks=3 --set run.layers=3 --set run.repeats=150
grep -qE '^[0-9]+ s(, about [0-9]+ s left)?: running usp u3 \(1 of 2\), layer [123] of 3' lines || fail "$(head -n 30 lines)"
! grep -E '^[0-9]+ s.{57}' lines || fail "a line is longer than the terminal"
# What follows the last time that the line is drawn: taken away, and only then the result.
tr '\r' '\n' <shown | grep -a -A1 '^[^a-z]* s.*: [a-z]*ing' | tail -n 1 >last
grep -q $'^\033\\[K' last || fail "the result stands on the progress line: $(cat -v last)"

# One plan that takes seconds: the line counts them, also before the first plan is there.
on_terminal 120 plan --set model.preset=wan2.1-t2v-14b --set cluster.preset=ndr-h100-xN --set cluster.nodes=64 \
  --set mask.pattern=paro --set mask.density=0.41 -s usp:ulysses=8,ring=64 -s ring
grep -q '^[0-9]* s: planning usp (1 of 2)' lines || fail "no planning: $(head -n 5 lines)"
[ "$(grep -c 'planning' lines)" -gt 3 ] || fail "planning does not go on: $(cat lines)"

part escapes
# Not with NO_COLOR or TERM=dumb, nor on the pseudo terminal that mpirun gives its processes.
has_escapes() { grep -q $'\033' shown; }
has_colors() { grep -q $'\033\\[[0-9;]*m' shown; }
run=(100 run -s ring "${small[@]}" --set cluster.ranks=2)
TERM=xterm on_terminal "${run[@]}" -o kept.db
has_colors || fail "no colours on a terminal"
TERM=xterm NO_COLOR=1 on_terminal "${run[@]}"
! has_colors || fail "colours despite NO_COLOR: $(cat -v shown)"
TERM=dumb on_terminal "${run[@]}"
! has_escapes || fail "escape sequences on a dumb terminal: $(cat -v shown)"
TERM=xterm OMPI_COMM_WORLD_SIZE=2 on_terminal 100 compare kept.db
! has_escapes || fail "escape sequences below mpirun: $(cat -v shown)"
# Tables are as wide as the terminal, or as COLUMNS says.
on_terminal 220 compare kept.db
! grep -a 'No room in' shown || fail "columns are left out of a wide terminal"
COLUMNS=80 expect_exit 0 compare kept.db
expect_out 'No room in 80 columns'
