#!/usr/bin/env bash
# -o keeps the run in one file and nothing else; an earlier one is replaced only with --force, and two runs cannot write one.
. "$(dirname -- "$0")/common.inc"

part output
# -o keeps the run in one file and nothing else; without -o nothing is left behind.
expect_exit 0 run -s ring "${small[@]}"
expect_err 'nothing was kept'
expect_no_files
expect_exit 0 run -s ring "${small[@]}" -o kept.db
expect_not_err 'nothing was kept'
expect_files kept.db
expect_no_scratch

part output-exists
# An earlier run is replaced only with --force; a refused run leaves it as it was.
expect_exit 0 run -s ring "${small[@]}" -o kept.db
cp kept.db copy.db
expect_exit 2 run -s ring "${small[@]}" -o kept.db
expect_err 'SPS-153' 'kept.db' '--force'
cmp kept.db copy.db || fail "the refused run changed the file"
expect_exit 0 run -s ulysses "${small[@]}" --set cluster.ranks=2 -o kept.db --force
expect_files kept.db copy.db
expect_exit 0 compare kept.db --json
expect_json 'list(s) == ["ulysses"]'

part output-busy
# Two runs cannot write one file: the second is refused at once, the first goes on.
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
