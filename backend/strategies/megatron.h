// Shared by megatron_sp and megatron_tp: every weight is cut over all ranks, by heads around the attention and by
// channels inside the feed-forward network, so that each rank computes its part for all tokens. Norms over all channels
// (Wan) need the sums of squares of all heads: an all-reduce of 4 bytes a token, reported separately from the hidden
// state.
#pragma once

#include "backend/strategies/collectives.h"
#include "backend/strategies/sharding.h"

namespace spscope {

// Problems of cutting the weights over all ranks. Ranks may outnumber the heads: those without any add zeros.
std::vector<Problem> check_megatron(const Request& request, std::string_view strategy);
// Why ranks that outnumber the columns cannot each have some.
void check_cut(const Request& request, std::string_view strategy, int columns, std::string_view what,
               std::vector<Problem>& problems);

// The layer with cut weights. The hidden state between blocks is cut over tokens at all ranks (`sequence_parallel`:
// gathered before each projection, reduce-scattered after), or whole at every rank (all-reduced after), each by the
// algorithm.
// REQUIRES: check_megatron() found nothing.
void plan_megatron(PlanBuilder& builder, const Request& request, bool sequence_parallel, CollectiveAlgorithm algorithm);

}  // namespace spscope
