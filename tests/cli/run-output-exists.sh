#!/usr/bin/env bash
# An earlier run is replaced only with --force; a refused run leaves it as it was.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run -s ring "${small[@]}" -o kept.db
cp kept.db copy.db
expect_exit 2 run -s ring "${small[@]}" -o kept.db
expect_err 'SPS-153' 'kept.db' '--force'
cmp kept.db copy.db || fail "the refused run changed the file"
expect_exit 0 run -s ulysses "${small[@]}" --set cluster.ranks=2 -o kept.db --force
expect_files kept.db copy.db
expect_exit 0 compare kept.db --json
expect_json 'list(s) == ["ulysses"]'
