#!/usr/bin/env bash
# Two runs cannot write one file: the second is refused at once, the first goes on.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

"$SPSCOPE" run -s ring --set model.grid=8,30,40 --set run.verify=off --set run.mode=execute --set run.repeats=300 -o kept.db >first 2>&1 &
first=$!
wait_for test -e kept.db.tmp
expect_exit 2 run -s ring "${small[@]}" -o kept.db
expect_err 'SPS-155' 'kept.db'
kill -0 "$first" || fail "the first run ended early: $(cat first)"
kill -TERM "$first"
wait "$first" || true
rm first
expect_no_files
