#!/usr/bin/env bash
# -o keeps the run in one file and nothing else; an earlier one is replaced only with --force, and two runs cannot write one.
. "$(dirname -- "$0")/common.inc"

part output
expect_exit 0 run -s ring "${small[@]}"
expect_err 'nothing was kept'
expect_no_files
expect_exit 0 run -s ring "${small[@]}" -o kept.db
expect_not_err 'nothing was kept'
expect_files kept.db
expect_no_scratch
cp kept.db copy.db
expect_refused 'SPS-153' 'kept.db' '--force' -- run -s ring "${small[@]}" -o kept.db
cmp kept.db copy.db || fail "the refused run changed the file"
expect_exit 0 run -s ulysses "${small[@]}" --set cluster.ranks=2 -o kept.db --force
expect_files kept.db copy.db
expect_exit 0 compare kept.db --json
expect_json 'list(s) == ["ulysses"]'

part closed
# Files are written and read the same with standard input closed, where SQLite puts /dev/null in its place.
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=2 -o kept.db <&-
for command in compare report doctor; do expect_exit 0 "$command" kept.db <&-; done
expect_exit 0 sql kept.db 'SELECT count(*) FROM event' --csv <&-
expect_exit 0 export kept.db --format plain-sqlite -o plain.db <&-
expect_exit 0 recover kept.db -o recovered.db <&-
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=2 -o kept.db --force <&-
expect_files kept.db plain.db recovered.db

part busy
# A second run to the same file is refused at once, and the first goes on; so on a file system of a network, where the lock that
# holds OUT.tmp is one of all its bytes.
for locks in 0 1; do
  INJECT_NFS_LOCKS=$locks LD_PRELOAD=$INJECT "$SPSCOPE" run -s ring --set model.grid=8,30,40 --set run.verify=off --set run.mode=execute \
    --set run.repeats=300 -o kept.db >first 2>&1 &
  pid=$!
  wait_for test -e kept.db.tmp
  INJECT_NFS_LOCKS=$locks LD_PRELOAD=$INJECT expect_code 2 "$SPSCOPE" run -s ring "${small[@]}" -o kept.db
  expect_err 'SPS-155' '"kept.db"'
  kill -0 "$pid" || fail "the first run ended early: $(cat first)"
  kill -TERM "$pid"
  expect_end 1
  rm first
  expect_no_files
done
export INJECT_NFS_LOCKS=1 LD_PRELOAD=$INJECT
expect_exit 0 run -s ring "${small[@]}" -o kept.db
expect_exit 0 doctor kept.db
expect_exit 0 recover kept.db -o recovered.db
expect_files kept.db recovered.db
