#!/usr/bin/env bash
# migrate writes the same run again: every figure is equal, and --small is smaller. The input is only read.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --set run.repeats=3 -o first.db
sha256sum first.db >before
expect_exit 0 migrate first.db -o again.db
expect_out 'wrote again.db'
expect_exit 0 migrate first.db -o small.db --small --json
expect_json 'd["events"] > 0' 'd["unreadable"] == 0' 'd["notes"] == []'
sha256sum --check --quiet before || fail "the input was changed"
figures() {
  expect_exit 0 compare "$1" --json
  python3 -B -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d["strategies"], d["workload"])' "$out"
}
[ "$(figures first.db)" = "$(figures again.db)" ] || fail "figures changed"
[ "$(figures first.db)" = "$(figures small.db)" ] || fail "figures changed with --small"
# No chunk grows, however few its events, and a longer run takes fewer bytes for pyramids.
bytes_of() {
  expect_exit 0 sql "$1" "SELECT sum(length(data)) FROM $2" --csv
  tail -n 1 "$out" | tr -d '\r'
}
[ "$(bytes_of small.db chunk)" -le "$(bytes_of first.db chunk)" ] || fail "--small made chunks larger"
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=2 --set run.repeats=600 --set run.verify=off -o long.db
expect_exit 0 migrate long.db -o long-small.db --small
# However long the waits of a crowded machine: without what repeats and rounds, times take fewer bits than packed.
[ $((100 * $(bytes_of long-small.db chunk))) -le $((85 * $(bytes_of long.db chunk))) ] ||
  fail "--small saved too little in chunks of a longer run"
[ "$(bytes_of long-small.db lod_level)" -lt "$(bytes_of long.db lod_level)" ] || fail "--small saved nothing"
[ "$(stat -c %s long-small.db)" -lt "$(stat -c %s long.db)" ] || fail "the small file is not smaller"
expect_exit 0 sql again.db "SELECT count(*) > 0 FROM lod_track" --csv
expect_out '1'
for file in first again small; do
  expect_exit 0 sql $file.db "SELECT rank, lane, op_id, begin_ns, end_ns, name FROM event ORDER BY 1, 2, 4, 5, 3" --csv
  cp "$out" $file.csv
done
cmp first.csv again.csv || fail "events changed"
cmp first.csv small.csv || fail "events changed with --small"

expect_refused 'exists' -- migrate first.db -o again.db
expect_exit 0 migrate first.db -o again.db --force
expect_refused 'both read and written' -- migrate first.db -o first.db --force
expect_refused 'no such file' -- migrate absent.db -o new.db
