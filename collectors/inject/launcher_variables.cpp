#include "collectors/inject/launcher_variables.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace spscope::inject {
namespace {

std::optional<int> value_of(RankSource source) {
  const char* const name = kRankVariables[static_cast<std::size_t>(source)];
  const char* const text = *name == '\0' ? nullptr : std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const char* const end = text + std::string_view(text).size();
  RankClaim claim = {.source = source};
  const auto [rest, error] = std::from_chars(text, end, claim.rank);
  if (error != std::errc() || rest != end || !is_possible(claim)) return std::nullopt;
  return claim.rank;
}

}  // namespace

std::optional<int> first_rank() {
  for (const RankSource source : kRankSourcesOfLaunchers)
    if (const std::optional<int> rank = value_of(source)) return rank;
  return std::nullopt;
}

std::vector<RankClaim> LauncherVariables::changes() {
  std::vector<RankClaim> changes;
  for (std::size_t place = 0; place < last_.size(); ++place) {
    const auto source = static_cast<RankSource>(place);
    const std::optional<int> now = value_of(source);
    if (!now || now == last_[place]) continue;
    last_[place] = now;
    changes.push_back({.source = source, .rank = *now});
  }
  return changes;
}

}  // namespace spscope::inject
