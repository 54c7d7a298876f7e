// Conclusions: the fastest strategy and what makes the others slower, as sentences.
#pragma once

#include <string>
#include <vector>

#include "backend/analysis/judgement.h"
#include "backend/report/section.h"

namespace spscope {

// The fastest strategy of one mode, then for each other one why it is slower, fastest first. Of plans, what is balanced
// best and what sends least. Empty without comparable times and when other programs disturbed them.
std::vector<std::string> conclusions(const ModeGroup& group);

// The latter alone: "ring r8 takes 19.9 ms longer: ..."
std::vector<std::string> reason_sentences(const Judgement& judgement, ReasonOf of);

// How far these can be trusted: what supports the difference, and up to which one strategies are not ranked.
std::vector<std::string> support_of_conclusions(const ModeGroup& group);

}  // namespace spscope
