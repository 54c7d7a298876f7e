// Advice: which strategy to use for a model on a cluster, how much faster it is than the first one, how much of that is
// the draw of the masks, and what the model cannot tell apart.
#pragma once

#include <string>
#include <vector>

#include "backend/report/document.h"
#include "backend/study/divisions.h"
#include "backend/study/seeds.h"
#include "backend/study/what_if.h"

namespace spscope {

struct Advice {
  SeededRuns runs;
  std::string fastest, reference;  // StrategyResult::id; "": nothing can run, or there is nothing to compare
  std::string fastest_argument;    // after -s: "cyclic:ulysses=4,ring=2"
  std::string reference_argument;
  Spread speedup;                      // of the fastest over the reference, over seeds
  std::vector<std::string> as_fast;    // labels of those that the model cannot tell from the fastest
  std::vector<std::string> sentences;  // the first says which one to use
  Divisions divisions;       // of the ranks, that were compared; without times where there is nothing to choose
  ParallelSetting division;  // of the job
  const StrategyResult& result(const std::string& id) const;
  // The id that the first sentence says to use: the fastest, however close others are; "" where one that was asked for
  // by name cannot run.
  std::string best() const;
};

// The result that speed-ups are over: Ulysses, or whatever else comes first. Where Ulysses was asked for and cannot
// run, the fastest USP can stand for it, then a ring. nullptr: nothing has a time.
const StrategyResult* reference_of(const Comparison& comparison);

// `divisions`: those that the job's was chosen from. Throws Error as comparison_of(). REQUIRES: times of the job are
// modelled.
Advice advise(const Job& job, int seeds, const QuietRun& options, Divisions divisions = {});

// "wan2.1-t2v-14b, 75,600 tokens, sparge, density 0.40, whole layers, 8 x h100, 3 seeds"
std::string question_line(const Advice& advice);
// A row for each strategy that can run, the fastest first; why the others are slower; the divisions of the ranks; what
// cannot run, with the reasons.
Section advice_section(const Advice& advice);

// Both side by side, per layer and end to end, and the division of the ranks that is faster then. REQUIRES: of one
// division.
Section what_if_section(const Advice& as_it_is, const Advice& then, const WhatIf& what_if);

// "usp:ulysses=4,ring=2": what follows -s to run this setting.
std::string strategy_argument(const ChosenStrategy& chosen);

}  // namespace spscope
