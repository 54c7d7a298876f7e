#!/usr/bin/env bash
# compare of a stored run says what the run itself said, number for number, also after the file has moved.
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" -s ulysses -s ring -s usp:ulysses=1,ring=3 --set cluster.ranks=3 -o kept.db --json
cp "$out" said
mkdir elsewhere
mv kept.db elsewhere/moved.db
expect_exit 0 compare elsewhere/moved.db --json
cmp "$out" said || fail "compare differs: $(diff "$out" said | head -5)"
expect_exit 0 compare elsewhere/moved.db
expect_out 'ulysses u3' 'ring r3' 'usp r3'

# Runs of different workloads stand beside each other, and it is said why no change is shown.
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=3 --set mask.density=0.2 -o other.db
expect_exit 0 compare elsewhere/moved.db other.db
expect_out 'No changes are shown: the files hold different workloads: density' 'Settings that differ' 'mask.density '
# Of runs that have nearly nothing in common the settings are counted and not listed; JSON lists them.
expect_exit 0 run --set run.mode=simulate --set cluster.preset=h100x8 --set mask.pattern=paro -s ring -o unlike.db
expect_exit 0 compare other.db unlike.db
expect_out 'No changes are shown: the files hold different workloads: '
grep -qE ', and [0-9]+ settings differ' <(tr '\n' ' ' <"$out") || fail "the settings that differ are not counted"
expect_not_out 'Settings that differ'
differ=$(tr '\n' ' ' <"$out" | sed -n 's/.*, and \([0-9]*\) settings differ.*/\1/p')
expect_exit 0 compare other.db unlike.db --json
expect_json "len(d['settings_changed']) == $differ > 12"
