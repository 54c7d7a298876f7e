#!/usr/bin/env bash
# A real quota (a btrfs of this test, in a file) of the folder of OUT: the error has path and bytes, no part of OUT is
# left, and all that was collected is recovered. The same of run.scratch, where pages of files that are mapped find no
# room: the error names the file, and what was committed is recovered.
# shellcheck source-path=SCRIPTDIR source=common.inc
if [ "${1:-}" != inside ]; then
  command -v mkfs.btrfs >/dev/null || { echo "skipped: btrfs-progs is not there"; exit 77; }
  unshare --mount true 2>/dev/null || { echo "skipped: mounting needs root"; exit 77; }
  exec unshare --mount bash "${BASH_SOURCE[0]}" inside
fi
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

disk=$temporary/disk files=$temporary/files
mkdir -- "$files"
truncate -s 160M -- "$disk"
mkfs.btrfs -q -- "$disk" >/dev/null 2>&1 || skip "mkfs.btrfs makes no file system here"
mount -o loop -- "$disk" "$files" 2>/dev/null || skip "no loop device, or no btrfs, here"
trap 'umount "$files"; rm -rf -- "$temporary"' EXIT
btrfs quota enable "$files"

# folder NAME BYTES: a folder of its own quota.
folder() {
  btrfs subvolume create "$files/$1" >/dev/null
  btrfs qgroup limit "$2" "$files/$1"
}

folder small 163840
expect_exit 1 run -s ring "${small[@]}" --set run.layers=3 --headless -o "$files/small/kept.db"
expect_err 'SPS-154' "$files/small/kept.db" 'bytes'
if [ -e "$files/small/kept.db" ] || [ -e "$files/small/kept.db.tmp" ]; then fail "a part of the file was left"; fi
left=$(echo "$TMPDIR"/spscope-kept-*)
[ -e "$left/kept.head.db" ] || fail "what was collected is gone"
expect_exit 0 recover "$left" -o again.db
expect_exit 0 sql again.db "SELECT CASE WHEN sum(sent) = sum(stored) AND sum(stored) > 0 THEN 'all of them' END FROM ledger"
expect_out 'all of them'
rm -rf -- again.db "$left" "$files/small/kept.db.collecting"

# acknowledged FILE: events that a commit was told of, of all lanes.
acknowledged() { awk '{ told[$1, $2] = $3 } END { for (lane in told) sum += told[lane]; print sum + 0 }' "$1"; }
folder scratch 16777216
expect_exit 1 run -s ring "${small[@]}" --set run.repeats=100000 --set run.verify=off --headless -o kept.db \
  --set "run.scratch=$files/scratch" --acknowledge told
expect_err 'SPS-154' "$files/scratch/spscope-kept-" 'bytes'
expect_not_err 'SPS-200'
if [ ! -e kept.db ]; then
  expect_err 'spscope recover'
  btrfs qgroup limit none "$files/scratch"
  expect_exit 0 recover kept.db -o kept.db
fi
expect_exit 0 doctor kept.db
committed=$(acknowledged told)
expect_exit 0 sql kept.db "SELECT CASE WHEN sum(stored) >= $committed AND sum(stored) > 0 THEN 'all of them' END FROM ledger"
expect_out 'all of them'
