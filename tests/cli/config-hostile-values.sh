#!/usr/bin/env bash
# Numbers without sense or bound are refused, never computed with: NaN, infinities, 2^63, negative counts, shapes whose
# products overflow.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

while read -r setting; do
  expect_refused 'SPS-0' -- plan --set "$setting"
  expect_refused 'SPS-0' -- run --set "$setting" -o kept.db
done < <(printf '%s\n' mask.density={nan,inf,-inf,0,-0.1,1.1,1e999} mask.block={0,-1,385,2147483648} mask.seed=-1 \
  model.grid={65536\,65536\,65536,1291\,1291\,1288,-1\,4\,4,1\,1\,65537} model.heads={-1,9223372036854775808,4097} \
  model.head_dim=1025 model.text_tokens=1048577 model.batch={0,4097} cluster.ranks={-1,9223372036854775808,1e9} \
  cluster.dp=0 run.repeats={0,-1,100001} run.layers={0,5} run.denoise_steps=0 run.threads_per_rank=0 run.mask_lag=2)
expect_no_files
expect_no_scratch
