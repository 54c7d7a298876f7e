#include "backend/analysis/equal_plans.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

namespace spscope {
namespace {

bool near(double a, double b) { return std::abs(a - b) <= kSamePlan * std::max(std::abs(a), std::abs(b)); }

template <typename T>
bool near(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](T x, T y) { return near(static_cast<double>(x), static_cast<double>(y)); });
}

bool same_degrees(const StrategyResult& a, const StrategyResult& b) {
  return std::ranges::equal(a.meshes, b.meshes, [](const RankMesh& x, const RankMesh& y) {
    return x.ulysses == y.ulysses && x.ring == y.ring;
  });
}

// "dbsp refine" of "dbsp u4 refine": the degrees are those of the plan that it equals.
std::string without_degrees(const StrategyResult& s) {
  std::string text;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = s.label.find(' ', begin);
    const std::string word = s.label.substr(begin, end - begin);
    const bool is_degree = word.size() > 1 && (word[0] == 'u' || word[0] == 'r') &&
                           word.find_first_not_of("0123456789", 1) == std::string::npos;
    if (!is_degree) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

// Of USP one degree may be 1. Two others differ in what they send.
bool may_equal(const StrategyResult& s) {
  constexpr std::string_view kMayEqual[] = {"dbsp", "snake", "cyclic", "dsv", "usp"};
  return std::ranges::find(kMayEqual, s.name) != std::end(kMayEqual);
}

}  // namespace

bool equal_plans(const StrategyResult& a, const StrategyResult& b) {
  if (!may_equal(a) && !may_equal(b)) return false;
  if (!a.legal() || !b.legal() || a.mode != b.mode || !a.makespan_ns || !b.makespan_ns) return false;
  return same_degrees(a, b) && near(static_cast<double>(*a.makespan_ns), static_cast<double>(*b.makespan_ns)) &&
         near(a.bytes_sent, b.bytes_sent) && near(a.tiles_by_rank, b.tiles_by_rank);
}

std::string own_label(const StrategyResult& s) { return s.label.substr(0, s.label.find(" = ")); }

Comparison without_equal_plans(Comparison comparison) {
  std::vector<StrategyResult> kept;
  std::vector<std::string> also;  // of each that is kept
  for (StrategyResult& s : comparison.strategies) {
    const auto same = std::ranges::find_if(kept, [&](const StrategyResult& k) { return equal_plans(k, s); });
    if (same == kept.end()) {
      kept.push_back(std::move(s));
      also.emplace_back();
    } else {
      if (may_equal(*same) && !may_equal(s)) std::swap(*same, s);
      also[static_cast<std::size_t>(same - kept.begin())] += " = " + without_degrees(s);
    }
  }
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i].label += also[i];
  comparison.strategies = std::move(kept);
  return comparison;
}

}  // namespace spscope
