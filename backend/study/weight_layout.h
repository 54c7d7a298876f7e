// Whether the answer should shard the weights over the ranks (run.weights), where whole copies leave no room for some
// strategies.
#pragma once

#include <string>

#include "backend/study/advice.h"

namespace spscope {

bool lacks_memory(const StrategyResult& result);

// Whether the chosen plan fits with what the engine, if there is one, can put elsewhere. True where none is chosen.
bool fits_in(const Engine* engine, const Advice& advice);

// Some strategy lacks memory on several ranks, or the chosen one leaves no room for what `engine`, if there is one, can
// put nowhere else; and the config leaves run.weights open.
bool sharding_may_help(const Job& job, const Advice& advice, const Engine* engine = nullptr);

struct LayoutChoice {
  bool sharded = false;
  std::string sentence;        // why, for those who read the answer; "": nothing to say
  std::string unsharded = {};  // where it is sharded: the answer without, and its memory; "": there is none
};
// `sharded` is the advice for `sharded_job`, with sharded weights. It is chosen where it is faster end to end even when
// nothing hides gathering weights (weight_gather.h), or nothing else can run in the engine.
LayoutChoice choose_layout(const Job& sharded_job, const Advice& whole, const Advice& sharded,
                           const Engine* engine = nullptr);

}  // namespace spscope
