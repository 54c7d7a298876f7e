// Conclusions: the fastest strategy and what makes the others slower, as sentences.
#pragma once

#include <string>
#include <vector>

#include "backend/report/section.h"

namespace spscope {

// One to three sentences about the strategies of one mode. Empty without comparable times and when other programs
// disturbed them.
std::vector<std::string> conclusions(const ModeGroup& group);

}  // namespace spscope
