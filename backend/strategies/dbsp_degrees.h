// Degrees of dbsp by schedule: which of several decisions takes the least time, as the schedule of their plans says.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "backend/strategies/strategy.h"

namespace spscope {

// The layer as far as it is known: the masks that are known run, and dense ones where none is.
Request known_layer(const Request& request);

// Position of the decision whose plan on known_layer() ends first on the request's cluster; of equal ones the first.
// Without a cluster a pair of tokens takes 1 ns and communication nothing.
//
// Decisions are planned in the order of their predicted latency (dbsp_predictor.h). One whose attention alone takes its
// busiest rank longer than the fastest so far is not. Together the plans have about kMostPlanned attends and messages:
// all pairs of degrees up to 128 ranks; of more ranks those beyond are not planned. REQUIRES: decisions not empty.
std::size_t fastest_by_schedule(const Request& request, std::span<const Decision> decisions,
                                const std::function<Plan(const Request&, const Decision&)>& plan);
inline constexpr std::int64_t kMostPlanned = 1 << 16;

}  // namespace spscope
