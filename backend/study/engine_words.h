// An answer for one engine in words: what is typed there, and what the engine lacks. "": nothing to say.
#pragma once

#include <string>

#include "backend/config/engines.h"
#include "backend/study/advice.h"

namespace spscope {

// What is typed, with what leaves the GPU for the rest to fit.
std::string flags_sentence(const Advice& advice, const Job& job, const Engine& engine);
// Of what was timed, what no flag of the engine chooses: the attention kernel, torch.compile.
std::string no_flag_sentence(const Advice& advice, const Job& job, const Engine& engine);
// What the flags leave open about sparse masks.
std::string masks_sentence(const Advice& advice, const Job& job, const Engine& engine);
// That an engine keeps whole weights, where these do not fit, and which engines shard them.
std::string no_shards_sentence(const Advice& advice, const Job& job, const Engine& engine);

}  // namespace spscope
