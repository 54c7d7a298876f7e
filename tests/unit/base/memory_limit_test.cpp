#include "backend/base/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

namespace spscope {
namespace {

TEST(MemoryText, HasTheUnitThatFits) {
  EXPECT_EQ(memory_text(0), "0 bytes");
  EXPECT_EQ(memory_text(1023), "1023 bytes");
  EXPECT_EQ(memory_text(1536), "1.5 KiB");
  EXPECT_EQ(memory_text(std::int64_t{8} << 30), "8 GiB");
  EXPECT_EQ(memory_text(std::int64_t{1} << 50), "1024 TiB");
}

bool can_take(std::size_t bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

// In a process of its own, since it holds for good.
TEST(MemoryCap, LeavesWhatIsAllowedAndNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto in_child = [] {
    cap_process_memory(64 << 20);
    if (can_take(48 << 20) && !can_take(48 << 20)) std::fputs("as allowed", stderr);
    std::abort();
  };
  EXPECT_DEATH(in_child(), "as allowed");
}

}  // namespace
}  // namespace spscope
