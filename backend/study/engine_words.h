// An answer for one engine in words: what is typed there, and what the engine lacks. "": nothing to say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/config/engines.h"
#include "backend/study/advice.h"

namespace spscope {

// What is typed, with what leaves the GPU for the rest to fit.
std::string flags_sentence(const Advice& advice, const Job& job, const Engine& engine);
// "The flags for that are --text-encoder-cpu-offload and --vae-tiling in SGLang": of a plan that fits only with the
// text encoder or VAE elsewhere, for each of these engines that has them. Without a full stop.
std::string placing_sentence(const MemoryNeed& need, const std::vector<std::string_view>& ids);
// Of what was timed, what no flag of the engine chooses: the attention kernel, torch.compile.
std::string no_flag_sentence(const Advice& advice, const Job& job, const Engine& engine);
// What the flags leave open about sparse masks.
std::string masks_sentence(const Advice& advice, const Job& job, const Engine& engine);
// That an engine keeps whole weights, where these do not fit, and which engines shard them.
std::string no_shards_sentence(const Advice& advice, const Job& job, const Engine& engine);
// "SGLang and vLLM-Omni gather all keys at once. Times here are of rings that pass them on (docs/engines.md).", of
// engines that run rings in another way than plans do; "": none does. `only`: nullptr: any engine.
std::string rings_text(const Advice& advice, const Engine* only);

}  // namespace spscope
