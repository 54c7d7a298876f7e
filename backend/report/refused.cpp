#include "backend/report/refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace spscope {
namespace {

struct Refusal {
  std::string names, first, message, hint;
  bool memory = false, several = false;
};

std::string text_of(const Refusal& r) {
  if (!r.memory) return fmt::format("{} ({})", r.names, r.message);
  if (!r.several) return fmt::format("{} ({}; {})", r.names, r.message, r.hint);
  return fmt::format("{} (each needs more memory than a GPU has: {} {}; {})", r.names, r.first, r.message, r.hint);
}

}  // namespace

std::string refused_text(std::span<const StrategyResult* const> strategies) {
  std::vector<Refusal> refusals;
  for (const StrategyResult* s : strategies) {
    if (s->legal()) continue;
    const Problem& problem = s->problems.front();
    const bool memory = problem.code == ErrorCode::kMemoryNeed;
    const auto same = std::ranges::find_if(refusals, [&](const Refusal& r) {
      return r.memory == memory && (memory ? r.hint == problem.hint : r.message == problem.message);
    });
    if (same == refusals.end()) {
      refusals.push_back({s->name, s->name, problem.message, problem.hint, memory, false});
    } else {
      same->names += ", " + s->name;
      same->several = true;
    }
  }
  std::string text;
  for (const Refusal& r : refusals) text += (text.empty() ? "" : ", ") + text_of(r);
  return text;
}

}  // namespace spscope
