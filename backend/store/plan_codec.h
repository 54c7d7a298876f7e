// Plans as bytes. Layout 1 (`plan.codec` = 1), all numbers as in bytes.h:
//
//   magic "SPLN", version
//   shape      ranks, lanes, batch, dtype, columns by axis, widths by tensor, outer and inner tokens
//   sets       every set that the plan uses, numbered from 0 (the empty set) in order of first use; spans as gap, size
//   reference arrays: deps, messages, values, groups, members; groups
//   posts (since version 2 with their collective, since 3 with by_index), ops, values, accumulators, masks, kernels,
//   messages, outputs CRC-32C of all of this
//
// Ranges and ids are stored as differences from where the last one ended, so an op of a large plan takes about 20 bytes
// and a message about 10. Fields are only ever added, under a new version.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/plan/plan.h"

namespace spscope {

// 2: layout 1 in compressed parts, in the table plan_part.
inline constexpr int kPlanCodec = 1, kPlanCodecParts = 2;

std::vector<std::uint8_t> encode_plan(const Plan& plan);
// An equal plan (plan_hash) with a set table of its own. Throws Error (kStoreCorrupt) with the rule at fault unless the
// bytes are a plan that check_form() accepts: what it computes may still be wrong, which takes a request to judge, but
// whoever reads it comes to an end.
Plan decode_plan(std::span<const std::uint8_t> bytes);

}  // namespace spscope
