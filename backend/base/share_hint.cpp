#include "backend/base/share_hint.h"

#include <fmt/format.h>

#include <charconv>

namespace spscope {

std::string share_hint(std::string_view number, double min, double max) {
  double percentage = 0;
  const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), percentage);
  if (code != std::errc() || end != number.data() + number.size()) return {};
  if (min < 0 || min >= 1 || max != 1 || !(percentage >= 2 && percentage <= 100)) return {};
  return fmt::format("a share, not a percentage: {}", percentage / 100);
}

}  // namespace spscope
