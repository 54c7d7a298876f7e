// Sets against std::set, on seeded random operands.
#include "backend/plan/set_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backend/base/rng.h"

namespace spscope {
namespace {

using Plain = std::set<std::int32_t>;

constexpr std::int32_t kAxis = 40;

Plain plain(const SetTable& table, SetId id) {
  Plain out;
  for (const Span& s : table.spans(id))
    for (std::int32_t i = s.begin; i < s.end; ++i) out.insert(i);
  return out;
}

SetId interned(SetTable& table, const Plain& set) {
  const std::vector<std::int32_t> list(set.begin(), set.end());
  return table.indices(list);
}

Plain random_set(Rng& rng) {
  Plain set;
  const double density = rng.uniform();
  for (std::int32_t i = 0; i < kAxis; ++i)
    if (rng.uniform() < density) set.insert(i);
  return set;
}

TEST(SetTable, EqualSetsHaveOneIdHoweverTheyWereGiven) {
  SetTable table;
  const SetId whole = table.span(2, 9);
  EXPECT_EQ(table.of({{5, 9}, {2, 5}}), whole);
  EXPECT_EQ(table.of({{2, 6}, {4, 9}, {7, 7}}), whole);
  EXPECT_EQ(table.indices(std::vector<std::int32_t>{8, 2, 3, 4, 5, 6, 7}), whole);
  EXPECT_NE(table.span(2, 8), whole);
  EXPECT_EQ(table.span(3, 3), kEmptySet);
  EXPECT_EQ(table.of({}), kEmptySet);
  EXPECT_FALSE(table.has(SetId{-1}));
  EXPECT_FALSE(table.has(SetId{table.num_sets()}));
  EXPECT_TRUE(table.has(whole));
}

TEST(SetTable, SpansAreSortedDisjointAndNotAdjacent) {
  SetTable table;
  Rng rng(1);
  for (int trial = 0; trial < 200; ++trial) {
    const auto spans = table.spans(interned(table, random_set(rng)));
    for (std::size_t i = 0; i < spans.size(); ++i) {
      EXPECT_LT(spans[i].begin, spans[i].end);
      EXPECT_TRUE(i == 0 || spans[i].begin > spans[i - 1].end);
    }
  }
}

TEST(SetTable, OperationsAreThoseOfSets) {
  SetTable table;
  Rng rng(2);
  for (int trial = 0; trial < 1000; ++trial) {
    const Plain a = random_set(rng), b = random_set(rng), c = random_set(rng);
    const SetId ia = interned(table, a), ib = interned(table, b), ic = interned(table, c);
    Plain both, minus, all;
    std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
    std::ranges::set_difference(a, b, std::inserter(minus, minus.end()));
    all.insert(a.begin(), a.end());
    all.insert(b.begin(), b.end());
    all.insert(c.begin(), c.end());
    const std::vector<SetId> list = {ia, ib, ic, ia};
    for (int again = 0; again < 2; ++again) {  // the second answer comes from memory
      EXPECT_EQ(plain(table, table.both(ia, ib)), both);
      EXPECT_EQ(table.both(ib, ia), table.both(ia, ib));
      EXPECT_EQ(plain(table, table.minus(ia, ib)), minus);
      EXPECT_EQ(plain(table, table.unite(list)), all);
    }
    EXPECT_EQ(table.size(ia), static_cast<std::int64_t>(a.size()));
    EXPECT_EQ(table.within(ia, ib), std::ranges::includes(b, a));
  }
}

TEST(SetTable, SlicesAreByPosition) {
  SetTable table;
  Rng rng(3);
  for (int trial = 0; trial < 300; ++trial) {
    const Plain a = random_set(rng);
    const std::vector<std::int32_t> list(a.begin(), a.end());
    const auto size = static_cast<std::int64_t>(list.size());
    const std::int64_t from = rng.below(size + 1), to = from + rng.below(size - from + 1);
    EXPECT_EQ(plain(table, table.slice(interned(table, a), from, to)), Plain(list.begin() + from, list.begin() + to));
  }
}

TEST(SetTable, EvenPartsPartitionAndDifferByOne) {
  SetTable table;
  Rng rng(4);
  for (int trial = 0; trial < 100; ++trial) {
    const SetId whole = interned(table, random_set(rng));
    const int parts = 1 + static_cast<int>(rng.below(7));
    const std::vector<SetId> cut = table.even(whole, parts);
    ASSERT_EQ(static_cast<int>(cut.size()), parts);
    std::int64_t low = kAxis, high = 0, total = 0;
    for (const SetId part : cut) {
      low = std::min(low, table.size(part));
      high = std::max(high, table.size(part));
      total += table.size(part);
    }
    EXPECT_LE(high - low, 1);
    EXPECT_EQ(total, table.size(whole));
    EXPECT_EQ(table.unite(cut), whole);
  }
}

}  // namespace
}  // namespace spscope
