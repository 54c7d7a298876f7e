#include "backend/base/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace spscope {
namespace {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

// "wan2.1-14b" of "wan2.1-t2v-14b": every part of the first is one of the second, in order.
bool has_parts(std::string_view whole, std::string_view parts) {
  if (parts.find('-') == std::string_view::npos || parts.starts_with('-')) return false;
  const std::string text = std::string(whole) + '-';
  std::size_t at = 0;
  while (!parts.empty()) {
    const std::size_t end = std::min(parts.find('-'), parts.size());
    const std::string part = std::string(parts.substr(0, end)) + '-';
    at = text.find(part, at);
    if (at == std::string::npos || (at > 0 && text[at - 1] != '-')) return false;
    at += part.size();
    parts.remove_prefix(std::min(parts.size(), end + 1));
  }
  return true;
}

// How far a name is from what was typed. A beginning or the parts of a name were shortened, not misspelt.
int distance(std::string_view typed, std::string_view name) {
  constexpr std::size_t kShortest = 4;  // beginnings of fewer characters say little
  const bool shortened = (typed.size() >= kShortest && name.starts_with(typed)) || has_parts(name, typed);
  return std::min(edit_distance(typed, name), shortened ? 1 : 1 << 20);
}

}  // namespace

std::string nearest_name(std::string_view unknown, std::span<const std::string_view> candidates) {
  const std::string typed = lower(unknown);
  std::string_view best;
  int best_distance = 1 << 20;
  for (std::string_view candidate : candidates) {
    const int far = distance(typed, lower(candidate));
    const int limit = std::max(2, static_cast<int>(candidate.size()) / 3);
    if (far <= limit && far < best_distance) best = candidate, best_distance = far;
  }
  return std::string(best);
}

}  // namespace spscope
