// The table of mask patterns, expanded from patterns.def.
#include <array>

#include "backend/mask/pattern.h"

namespace spscope {

#define PATTERN(name, evolves, follows_density, summary)            \
  std::vector<Parameter> parameters_##name();                       \
  std::vector<Problem> check_##name(const PatternRequest& request); \
  BlockMask generate_##name(const PatternRequest& request);
#include "backend/mask/patterns.def"
#undef PATTERN

namespace {

// The name of a row as people write it.
template <std::size_t kSize>
struct RowName {
  std::array<char, kSize> text;
  constexpr explicit RowName(const char (&identifier)[kSize]) : text() {
    for (std::size_t i = 0; i < kSize; ++i) text[i] = identifier[i] == '_' ? '-' : identifier[i];
  }
  constexpr std::string_view view() const { return {text.data(), kSize - 1}; }
};

#define PATTERN(name, evolves, follows_density, summary) constexpr RowName kName_##name(#name);
#include "backend/mask/patterns.def"
#undef PATTERN

}  // namespace

std::span<const Pattern> patterns() {
  static constexpr Pattern table[] = {
#define PATTERN(name, evolves, follows_density, summary) \
  {kName_##name.view(), summary, parameters_##name, check_##name, generate_##name, evolves, follows_density},
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
