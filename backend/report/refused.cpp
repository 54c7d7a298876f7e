#include "backend/report/refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace spscope {
namespace {

struct Refusal {
  std::string names, first, message, hint;
  bool memory = false, several = false;
};

// In the list of what cannot run; memory is told behind it.
std::string listed_text(const Refusal& r) { return r.memory ? r.names : fmt::format("{} ({})", r.names, r.message); }

// ". ring needs 26 of 24 GiB. It fits from 4 ranks on"
std::string memory_text(const Refusal& r) {
  if (!r.memory) return "";
  std::string hint = r.hint;
  if (hint.starts_with("fits ")) hint = "it " + hint;
  if (r.several && hint.starts_with("it ")) hint.replace(0, 2, "each");
  if (!hint.empty()) hint[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(hint[0])));
  std::string all = r.names;
  if (r.several) all.replace(all.rfind(", "), 2, " and ");
  const std::string each = r.several ? fmt::format("Each of {} needs more memory than a GPU has. ", all) : "";
  return fmt::format(". {}{} {}. {}", each, r.first, r.message, hint);
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
  for (const Refusal& r : refusals) text += (text.empty() ? "" : ", ") + listed_text(r);
  for (const Refusal& r : refusals) text += memory_text(r);
  return text;
}

}  // namespace spscope
