#!/usr/bin/env bash
# Masks without an active block are named, and nothing is fastest on them; a line of many heads stays a line.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

python3 -B - <<'EOF'
header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 8, 8), }"
header += " " * (-(len(header) + 11) % 64) + "\n"
open("empty.npy", "wb").write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(3 * 64))
EOF
for mode in simulate execute; do
  expect_exit 0 run "${small[@]}" --set mask.file=empty.npy --set run.mode=$mode --set cluster.ranks=2 -s ulysses -s ring
  expect_out 'no active block' 'No winner is named'
  expect_not_out 'is fastest'
done

expect_exit 0 mask generate sparge --grid 1,8,8 --heads 20000
[ "$(wc -L <"$out")" -le 200 ] || fail "a line of $(wc -L <"$out") characters"
expect_out '(209 heads a character)'
