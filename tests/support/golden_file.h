// Golden files: texts under tests/golden that a test must reproduce to the byte. UPDATE_GOLDEN=1 rewrites them; the
// diff is the review.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace spscope {

inline void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(SPSCOPE_SOURCE_DIR) + "/tests/golden/" + name;
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && *update == '1') {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path << " is missing; UPDATE_GOLDEN=1 writes it";
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(actual, expected.str()) << "UPDATE_GOLDEN=1 rewrites " << path;
}

}  // namespace spscope
