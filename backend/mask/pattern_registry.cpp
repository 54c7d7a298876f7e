// The table of mask patterns, expanded from patterns.def.
#include "backend/mask/pattern.h"

namespace spscope {

#define PATTERN(name, evolves, summary)                             \
  std::vector<Parameter> parameters_##name();                       \
  std::vector<Problem> check_##name(const PatternRequest& request); \
  BlockMask generate_##name(const PatternRequest& request);
#include "backend/mask/patterns.def"
#undef PATTERN

std::span<const Pattern> patterns() {
  static constexpr Pattern table[] = {
#define PATTERN(name, evolves, summary) {#name, summary, parameters_##name, check_##name, generate_##name, evolves},
#include "backend/mask/patterns.def"
#undef PATTERN
  };
  return table;
}

const Pattern* find_pattern(std::string_view name) {
  for (const Pattern& pattern : patterns()) {
    if (pattern.name == name) return &pattern;
  }
  return nullptr;
}

}  // namespace spscope
