#!/usr/bin/env bash
# An export to CSV says that it makes a folder, before in its help and afterwards with what is in it.
. "$(dirname -- "$0")/common.inc"

expect_exit 0 export --help
expect_exit 0 run "${small[@]}" -s ring -o kept.db
expect_exit 0 export kept.db --format csv -o tables
files=$(find tables -type f | wc -l)
expect_err "tables" "$files files"
expect_refused 'SPS-153' 'add --force' -- export kept.db --format csv -o tables
# A folder that is not an export is never replaced, and no flag is offered that would not do it.
mkdir mine
expect_refused 'SPS-151' '-o mine/NAME' -- export kept.db --format csv -o mine
expect_not_err '--force'
expect_exit 0 export kept.db --format csv -o mine/tables
expect_exit 0 export kept.db --format chrome -o events.json
expect_err 'events.json'
expect_not_err 'folder'
