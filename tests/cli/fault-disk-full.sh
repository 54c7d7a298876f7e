#!/usr/bin/env bash
# A file system without room for OUT (a tmpfs of its own): as with a quota, and with the bytes that are free.
# shellcheck source-path=SCRIPTDIR source=common.inc
# labels: extended
if [ "${1:-}" != inside ]; then
  unshare --mount true 2>/dev/null || { echo "skipped: mounting needs root"; exit 77; }
  exec unshare --mount bash "${BASH_SOURCE[0]}" inside
fi
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

mkdir full
mount -t tmpfs -o size=64k tmpfs full
trap 'umount full; rm -rf -- "$temporary"' EXIT
expect_exit 1 run -s ring "${small[@]}" --set run.layers=3 --headless -o full/kept.db
expect_err 'SPS-154' 'full/kept.db' 'bytes'
if [ -e full/kept.db ] || [ -e full/kept.db.tmp ]; then fail "a part of the file was left"; fi
folder=$(echo "$TMPDIR"/spscope-kept-*)
[ -e "$folder/kept.head.db" ] || fail "what was collected is gone"
expect_exit 0 recover "$folder" -o again.db
expect_exit 0 sql again.db "SELECT CASE WHEN sum(sent) = sum(stored) AND sum(stored) > 0 THEN 'all of them' END FROM ledger"
expect_out 'all of them'
