#!/usr/bin/env bash
# --set and -s are checked like a file: unknown keys and names, wrong types and ranges, and text without a key.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

refused() {
  local setting=$1
  shift
  expect_refused "$@" -- plan --set "$setting"
}
refused 'mdel.preset=x' 'SPS-002' 'did you mean "model.preset"?' '--set mdel.preset=x'
refused 'model.preset=flux1-dev' 'SPS-005' 'did you mean "flux.1-dev"?'
refused 'cluster.preset=a80x8' 'SPS-005' 'did you mean "a800x8"?'
refused 'mask.pattern=sprge' 'SPS-005' 'did you mean "sparge"?'
refused 'run.strategies=rng' 'SPS-005' 'did you mean "ring"?'
refused 'run.dtype=bf32' 'SPS-005'
refused 'run.repeats=two' 'SPS-003'
refused 'run.repeats=2.5' 'SPS-003'
refused 'run.repeats=' 'SPS-003'
refused 'run.collect=nvml,cupti' 'SPS-005' "--set 'run.collect=[\"nvml\", \"cupti\"]'"
refused 'run.collect=nccl' 'SPS-006' 'leave nccl out; spscope attach'
refused 'model.grid=4,4' 'SPS-003' '[frames, height, width]'
refused 'model.grid=[4,4,x]' 'SPS-0'
refused 'nothing' 'SPS-180' 'key=value'
refused '=3' 'SPS-'
refused 'strategy.usp.ulyses=2' 'SPS-002' 'did you mean "ulysses"?'
refused 'mask.window.radus=2' 'SPS-002' 'did you mean "radius"?'
expect_refused 'SPS-005' 'did you mean "ulysses"?' -- plan -s ulisses
expect_refused 'ulyses' 'did you mean "ulysses"?' -- plan -s usp:ulyses=2
expect_refused 'order' 'contiguous' -- plan -s ring:order=zigzag
expect_refused 'usp' -- plan -s usp:ulysses
expect_refused 'mdel.preset' 'run.dtype' 'sprge' \
  -- plan --set mdel.preset=x --set run.dtype=fp8 --set mask.pattern=sprge
