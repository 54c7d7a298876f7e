#!/usr/bin/env bash
# A config that is missing, a folder, no TOML, nested without end or endless is refused with its name and place.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

mkdir folder
printf '[model\n' >syntax.toml
printf 'a = 1\na = 2\n' >twice.toml
printf '\xff\xfe\0\x01binary\n' >binary.toml
printf '[model]\nheads = 9223372036854775808\n' >number.toml
{ printf 'a = ' && printf '[%.0s' {1..20000}; } >deep.toml
expect_refused 'SPS-007' 'missing.toml' -- plan missing.toml
expect_refused 'SPS-007' 'folder' -- plan folder
expect_refused 'SPS-001' 'syntax.toml:1:7' -- plan syntax.toml
expect_refused 'SPS-001' 'twice.toml:2:' -- plan twice.toml
expect_refused 'SPS-001' 'binary.toml:1:' -- plan binary.toml
expect_refused 'SPS-001' 'number.toml:2:' -- plan number.toml
expect_refused 'SPS-001' 'deep.toml:1:' -- plan deep.toml
expect_refused 'SPS-007' '/dev/zero' -- plan /dev/zero
