// Conclusions: who wins and what makes the others slower, in plain words.
#pragma once

#include <string>
#include <vector>

#include "backend/report/section.h"

namespace spscope {

// One to three sentences about the strategies of one mode. Empty when nothing can be said: without times that compare,
// and when other programs disturbed them.
std::vector<std::string> conclusions(const ModeGroup& group);

}  // namespace spscope
