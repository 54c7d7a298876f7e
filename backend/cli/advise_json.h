// The answer of `spscope advise` as JSON: schemas/advice.schema.json.
#pragma once

#include <string>
#include <vector>

#include "backend/base/json.h"
#include "backend/study/advice_words.h"

namespace spscope {

// `next`: the commands that go on from it. `then`: what `what_if` gives, nullptr where it was not asked for.
Json advice_json(const Advice& advice, const Job& job, const AdviceFacts& facts, const std::vector<std::string>& next,
                 const Advice* then = nullptr, const std::string& what_if = "");

}  // namespace spscope
