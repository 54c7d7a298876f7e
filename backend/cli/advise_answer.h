// The answer of `spscope advise`: the advice on the division of the ranks that is fastest, with the weights as they are
// faster, and what else is said of it.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/study/advice_words.h"
#include "backend/study/quiet_run.h"

namespace spscope {

// With what it was asked as: the settings of a run, and the jobs that its division was chosen from.
struct Answer {
  JobFlags job_flags;
  Job job;
  std::vector<Job> jobs;
  Advice advice;
};

// `engine`: what it has alone; nullptr: all there is. Throws Error: the engine does not run the model, or has no
// strategy for it.
Answer best_answer(const JobFlags& job_flags, const Engine* engine, int seeds, const QuietRun& options,
                   std::int64_t max_memory_bytes);
// `dense`: masks were not asked for.
AdviceFacts facts_of(const Answer& answer, const Engine* engine, bool dense, int seeds, const QuietRun& options);
// The divisions of the same jobs on another machine.
Divisions supposed_divisions(const std::vector<Job>& jobs, const WhatIf& what_if, int seeds, const QuietRun& options);

}  // namespace spscope
