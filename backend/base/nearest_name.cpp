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

}  // namespace

std::string nearest_name(std::string_view unknown, std::span<const std::string_view> candidates) {
  std::string_view best;
  int best_distance = 1 << 20;
  for (std::string_view candidate : candidates) {
    const int distance = edit_distance(unknown, candidate);
    const int limit = std::max(2, static_cast<int>(candidate.size()) / 3);
    if (distance <= limit && distance < best_distance) best = candidate, best_distance = distance;
  }
  return std::string(best);
}

}  // namespace spscope
