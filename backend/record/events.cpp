#include "backend/record/events.h"

#include <cstddef>

namespace spscope {

std::string_view event_category_name(EventCategory category) {
  static constexpr std::string_view names[kNumEventCategories] = {"other",     "attend",   "local",
                                                                  "rearrange", "transfer", "barrier"};
  const auto number = static_cast<std::size_t>(category);
  return number < kNumEventCategories ? names[number] : names[0];
}

}  // namespace spscope
