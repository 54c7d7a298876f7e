// What the tests of printed reports look for.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spscope {

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline void expect_parts(const std::string& text, const std::vector<std::string>& said,
                         const std::vector<std::string>& not_said = {}) {
  const std::string shown = text.size() < 10'000 ? "\n" + text : "";  // no whole page
  for (const std::string& part : said) EXPECT_TRUE(has(text, part)) << part << shown;
  for (const std::string& part : not_said) EXPECT_FALSE(has(text, part)) << part << shown;
}

}  // namespace spscope
