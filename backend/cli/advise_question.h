// The question that `spscope advise` is asked: its flags, the settings of a run that they are, and how they are typed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/config/engines.h"
#include "backend/job/job.h"

namespace spscope {

inline constexpr int kAdviseSeeds = 3;

struct AdviseFlags {
  std::string config, model, cluster, pattern, mask, block, density, kernel, implementation, engine, what_if, save;
  int ranks = 0, seeds = kAdviseSeeds;
  std::int64_t tokens = 0;
  bool all = false;
  std::vector<std::string> strategies, settings;
};

// Throws Error(kUsage) where neither a flag, --set nor the config names model and cluster.
void require_question(const AdviseFlags& flags);

// " --model wan-mini --cluster h100x8": the flags that name the question.
std::string typed_question(const AdviseFlags& flags);

struct AdviseQuestion {
  JobFlags job;        // the settings of a run, first what --set may replace
  bool dense = false;  // masks are not asked for, so that the answer is for dense attention
};
// `engine`: whose ways are set where the question leaves them open; nullptr: any. Throws Error as load_job().
AdviseQuestion question_of(const AdviseFlags& flags, const Engine* engine, std::int64_t max_memory_bytes);

}  // namespace spscope
