// One figure of several layer passes, or of several seeds (figures.def).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "backend/store/figures.h"

namespace spscope {

// Absent when there is none, or one of them is absent. A mean of whole numbers is rounded. REQUIRES: not Combine::kOwn.
template <typename T>
std::optional<T> combined(const std::vector<std::optional<T>>& values, Combine rule) {
  std::optional<T> all;
  for (const std::optional<T>& value : values) {
    if (!value) return std::nullopt;
    all = !all ? *value : rule == Combine::kMax ? std::max(*all, *value) : *all + *value;
  }
  if (!all || rule != Combine::kMean) return all;
  const double mean = static_cast<double>(*all) / static_cast<double>(values.size());
  if constexpr (std::is_integral_v<T>) return std::llround(mean);
  return mean;
}

// Adds a list by rank to `all`; ranks that a list does not have count 0 there. REQUIRES: Combine::kSum or kMax.
template <typename T>
void combine(std::vector<T>& all, const std::vector<T>& list, Combine rule) {
  all.resize(std::max(all.size(), list.size()));
  for (std::size_t r = 0; r < list.size(); ++r)
    all[r] = rule == Combine::kMax ? std::max(all[r], list[r]) : all[r] + list[r];
}

template <typename T>
std::vector<T> combined(const std::vector<std::vector<T>>& lists, Combine rule) {
  std::vector<T> all;
  for (const std::vector<T>& list : lists) combine(all, list, rule);
  return all;
}

}  // namespace spscope
