// Numbers of what `spscope` prints as JSON.
#pragma once

#include <optional>
#include <string_view>

#include "backend/base/json.h"

namespace spscope::gui {

inline std::optional<double> number_at(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->is_number() ? std::optional(value->number()) : std::nullopt;
}

inline std::optional<double> mean_of(const Json* list) {
  if (list == nullptr || !list->is_array()) return std::nullopt;
  double sum = 0;
  int count = 0;
  for (const Json& value : *list) sum += value.number(), ++count;
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace spscope::gui
