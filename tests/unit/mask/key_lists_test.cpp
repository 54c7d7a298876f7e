// Lists of key blocks against the masks that they were made of.
#include "backend/mask/key_lists.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/rng.h"

namespace spscope {
namespace {

constexpr std::int64_t kMaxBytes = 1 << 20;

Array array_of(const char* name, std::vector<std::int64_t> shape, const std::vector<std::int32_t>& values) {
  Array array{name, ElementType::kI32, std::move(shape), std::vector<std::byte>(values.size() * 4)};
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

struct Table {
  Array lists, counts;
  std::vector<std::byte> bits;
};

// Rows of a random mask; slots behind a list hold numbers of no meaning.
Table random_table(std::uint64_t seed, bool delta, int heads = 2, int queries = 5, int keys = 16,
                   double density = 0.6) {
  Rng rng(seed);
  std::vector<std::int32_t> lists, counts;
  std::vector<std::byte> bits;
  for (int row = 0; row < heads * queries; ++row) {
    const std::size_t first = lists.size();
    std::int32_t last = 0;
    for (std::int32_t key = 0; key < keys; ++key) {
      const bool active = rng.uniform() < density;
      bits.push_back(static_cast<std::byte>(active));
      if (!active) continue;
      lists.push_back(delta ? key - last : key);
      last = key;
    }
    counts.push_back(static_cast<std::int32_t>(lists.size() - first));
    lists.resize(first + static_cast<std::size_t>(keys), static_cast<std::int32_t>(rng.below(1000)) - 500);
  }
  return {array_of("lut", {heads, queries, keys}, lists), array_of("valid_block_num", {heads, queries}, counts), bits};
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(KeyLists, GiveTheMaskThatTheyWereMadeOf) {
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    for (const bool delta : {true, false}) {
      const Table table = random_table(seed, delta);
      EXPECT_EQ(bits_of_lists(table.lists, table.counts, delta, "f", kMaxBytes).bytes, table.bits) << seed;
      // Without being told: the mask, or no mask at all.
      const ErrorCode code = code_of([&] {
        EXPECT_EQ(bits_of_lists(table.lists, table.counts, std::nullopt, "f", kMaxBytes).bytes, table.bits) << seed;
      });
      EXPECT_TRUE(code == ErrorCode::kInternal || code == ErrorCode::kMaskValue);
      // Distances of dense rows repeat, which key blocks do not.
      EXPECT_TRUE(!delta || code == ErrorCode::kInternal) << seed;
    }
}

TEST(KeyLists, MayNameEveryBlock) {
  for (const bool delta : {true, false}) {
    const Table table = random_table(1, delta, 2, 5, 16, 1);
    EXPECT_EQ(bits_of_lists(table.lists, table.counts, delta, "f", kMaxBytes).bytes, table.bits);
  }
}

// Small sparse tables are where both readings are possible: never a wrong mask.
TEST(KeyLists, NeverGiveAnotherMaskUnasked) {
  int refused = 0, read = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed)
    for (const bool delta : {true, false}) {
      const Table table = random_table(seed, delta, 1, 1, 12, 0.2);
      const ErrorCode code = code_of([&] {
        EXPECT_EQ(bits_of_lists(table.lists, table.counts, std::nullopt, "f", kMaxBytes).bytes, table.bits);
        ++read;
      });
      refused += code == ErrorCode::kMaskValue;
    }
  EXPECT_GT(refused, 0);
  EXPECT_GT(read, 0);
}

TEST(KeyLists, RefuseWhatIsNone) {
  const auto code = [](const Array& lists, const Array& counts, std::optional<bool> delta) {
    return code_of([&] { (void)bits_of_lists(lists, counts, delta, "f", kMaxBytes); });
  };
  const Array counts = array_of("n", {1, 2}, {2, 1});
  const Array lists = array_of("l", {1, 2, 4}, {1, 1, 9, 9, 3, 9, 9, 9});
  EXPECT_EQ(code(lists, counts, true), ErrorCode::kInternal);
  EXPECT_EQ(code(lists, counts, false), ErrorCode::kMaskValue);                                            // 1 twice
  EXPECT_EQ(code(array_of("l", {1, 2, 4}, {3, 3, 9, 9, 3, 9, 9, 9}), counts, {}), ErrorCode::kMaskValue);  // neither
  EXPECT_EQ(code(array_of("l", {1, 2, 4}, {-1, 1, 9, 9, 3, 9, 9, 9}), counts, true), ErrorCode::kMaskValue);
  EXPECT_EQ(code(lists, array_of("n", {1, 2}, {5, 1}), true), ErrorCode::kMaskValue);
  EXPECT_EQ(code(lists, array_of("n", {1, 2}, {-1, 1}), true), ErrorCode::kMaskValue);
  EXPECT_EQ(code(lists, array_of("n", {2}, {2, 1}), true), ErrorCode::kMaskShape);
  EXPECT_EQ(code(array_of("l", {2, 4}, {1, 1, 9, 9, 3, 9, 9, 9}), array_of("n", {2}, {2, 1}), true),
            ErrorCode::kMaskShape);
  EXPECT_EQ(code_of([&] { (void)bits_of_lists(lists, counts, true, "f", 7); }), ErrorCode::kMaskTooLarge);
  Array floats = lists;
  floats.type = ElementType::kF32;
  EXPECT_EQ(code(floats, counts, true), ErrorCode::kMaskDtype);
}

}  // namespace
}  // namespace spscope
