// Advice in words: sentences and tables, each with how soon an answer of few lines leaves it out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/config/engines.h"
#include "backend/study/advice.h"
#include "backend/study/other_code.h"

namespace spscope {

// What else is known of the question when it is put into words.
struct AdviceFacts {
  std::string code;  // code_text()
  std::optional<OtherTime> other_code, sparse_masks;
  const Engine* engine = nullptr;  // that the answer is for; nullptr: any
  int gpus = 1;                    // of the cluster that run
};

// A part of an answer. Of `drop` above 0 the highest are left out first where lines are few; 0: never.
struct AdvicePart {
  Block block;
  int drop = 0;
};

// The sentences, the first of which says what to use. Parts are paragraphs.
std::vector<AdvicePart> advice_sentences(const Advice& advice, const Job& job, const AdviceFacts& facts);
// "wan2.1-t2v-14b, 81 frames of 1280x720, 75,600 tokens, sparge, density 0.40, whole layers, 8 x h100, 3 seeds"
std::string question_line(const Advice& advice, const Job& job);
// A row for each plan that can run, the fastest first, at most `rows` of them, that of the reference among them, and
// the engines that run it. Plans that `said` names, in parts that are never left out, have a row beyond that number.
// The one that the first sentence says to use is emphasised. `all`: with what times consist of.
Table strategies_table(const Advice& advice, const AdviceFacts& facts, bool all, std::size_t rows,
                       const std::vector<AdvicePart>& said = {});
// Behind the table: memory, what cannot run with the reasons, why the others are slower, the divisions of the ranks.
std::vector<AdvicePart> advice_details(const Advice& advice, const AdviceFacts& facts, bool all);

// What decides whether the advice can be followed: shares of heads that engines refuse, and rings that they run in
// another way. `engine`: that the answer is for; nullptr: any.
std::vector<std::string> deciding_notes(const Advice& advice, const Engine* engine);

// Both side by side, per layer and end to end, and the division of the ranks that is faster then. REQUIRES: of one
// division.
Section what_if_section(const Advice& as_it_is, const Advice& then, const WhatIf& what_if);

// How many times as fast as the reference, in each seed.
Spread speedup_over(const SeededRuns& runs, const std::string& id, const std::string& reference);

}  // namespace spscope
