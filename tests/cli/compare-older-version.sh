#!/usr/bin/env bash
# A file that the first version of the program wrote is compared as that version compared it, from a read-only folder,
# and stays as it is.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

mkdir old
cp -- "$SOURCE_DIR/tests/samples/store-v1.db" old
chmod a-w old/store-v1.db old
before=$(sha256sum <old/store-v1.db)
expect_exit 0 compare old/store-v1.db --json
[ "$(sha256sum <old/store-v1.db)" = "$before" ] || fail "the file was changed"
[ "$(ls -A old)" = store-v1.db ] || fail "side files: $(ls -A old)"
python3 -B "$scripts/covers_json.py" "$out" "$SOURCE_DIR/tests/samples/store-v1.json" || fail "figures differ"
expect_exit 0 sql old/store-v1.db "SELECT count(*) AS events FROM event"
expect_out 96
chmod u+w old
