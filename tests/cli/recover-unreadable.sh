#!/usr/bin/env bash
# A folder that the user may not read is named, with the reason; nothing is written.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

if [ "$(id -u)" -eq 0 ]; then # as a user whose rights are looked at
  drop=-dac_override,-dac_read_search
  setpriv --bounding-set "$drop" --inh-caps "$drop" true || skip "setpriv cannot drop the rights of root"
  printf '#!/bin/sh\nexec setpriv --bounding-set %s --inh-caps %s "%s" "$@"\n' "$drop" "$drop" "$SPSCOPE" >../as-user
  chmod +x ../as-user
  SPSCOPE=$PWD/../as-user
fi
mkdir -m 000 locked
expect_refused 'SPS-150' 'locked' 'Permission denied' -- recover locked -o never.db
expect_files locked
