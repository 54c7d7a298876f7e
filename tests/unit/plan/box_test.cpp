// Boxes against sets of cells, on seeded random operands; placements.
#include "backend/plan/box.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "backend/base/rng.h"

namespace spscope {
namespace {

using Cells = std::multiset<std::array<std::int32_t, 3>>;

SetId random_set(SetTable& sets, Rng& rng, std::int32_t axis) {
  std::vector<std::int32_t> list;
  for (std::int32_t i = 0; i < axis; ++i)
    if (rng.below(5) < 3) list.push_back(i);
  return sets.indices(list);
}

Box random_box(SetTable& sets, Rng& rng) {
  return {random_set(sets, rng, 4), random_set(sets, rng, 3), random_set(sets, rng, 6)};
}

void add_cells(const SetTable& sets, const Box& box, Cells& cells) {
  for (const Span& c : sets.spans(box.columns))
    for (const Span& o : sets.spans(box.outer))
      for (const Span& i : sets.spans(box.inner))
        for (std::int32_t x = c.begin; x < c.end; ++x)
          for (std::int32_t y = o.begin; y < o.end; ++y)
            for (std::int32_t z = i.begin; z < i.end; ++z) cells.insert({x, y, z});
}

Cells cells_of(const SetTable& sets, const BoxList& boxes) {
  Cells cells;
  for (const Box& box : boxes) add_cells(sets, box, cells);
  return cells;
}

TEST(Box, MeetAndSubtractSplitTheCellsOfTheFirst) {
  SetTable sets;
  Rng rng(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const Box a = random_box(sets, rng), b = random_box(sets, rng);
    Cells common, rest;
    const Cells of_a = cells_of(sets, {a}), of_b = cells_of(sets, {b});
    for (const auto& cell : of_a) (of_b.contains(cell) ? common : rest).insert(cell);

    const std::optional<Box> met = meet(sets, a, b);
    EXPECT_EQ(met.has_value(), !common.empty());
    EXPECT_EQ(cells_of(sets, met ? BoxList{*met} : BoxList{}), common);

    BoxList parts;
    subtract(sets, a, b, parts);
    EXPECT_EQ(cells_of(sets, parts), rest);  // a multiset: parts that overlapped would count twice
    for (const Box& part : parts) EXPECT_FALSE(part.empty());
    EXPECT_EQ(volume(sets, parts), static_cast<std::int64_t>(rest.size()));
  }
}

TEST(Box, UncoveredIsWhatNoBoxHolds) {
  SetTable sets;
  Rng rng(6);
  for (int trial = 0; trial < 500; ++trial) {
    const Box box = random_box(sets, rng);
    BoxList held;
    for (std::int64_t n = rng.below(4); n > 0; --n) held.push_back(random_box(sets, rng));
    const Cells covered_cells = cells_of(sets, held);
    Cells rest;
    for (const auto& cell : cells_of(sets, {box}))
      if (!covered_cells.contains(cell)) rest.insert(cell);
    EXPECT_EQ(cells_of(sets, uncovered(sets, box, held)), rest);
    EXPECT_EQ(covered(sets, box, held), rest.empty());
  }
}

TEST(Placement, RotateMovesEachGroupAlongItself) {
  SetTable sets;
  const auto box = [&](int i) { return Box{sets.span(0, 1), sets.span(0, 1), sets.span(i, i + 1)}; };
  const Placement placement = Placement::make(5, [&](int rank) { return BoxList{box(rank)}; });
  const std::vector<std::vector<int>> groups = {{0, 2, 4}, {1, 3}};
  const Placement next = placement.rotate(groups), back = placement.rotate(groups, -1);
  EXPECT_EQ(next.at(2).front(), box(0));
  EXPECT_EQ(next.at(0).front(), box(4));
  EXPECT_EQ(next.at(3).front(), box(1));
  EXPECT_EQ(back.at(0).front(), box(2));
  EXPECT_EQ(next.rotate(groups, -1), placement);
  EXPECT_EQ(placement.rotate(groups, 6), placement);
}

TEST(Placement, DropsEmptyBoxes) {
  SetTable sets;
  const Box full{sets.span(0, 2), sets.span(0, 1), sets.span(0, 3)};
  const Placement placement = Placement::make(2, [&](int rank) {
    return rank == 0 ? BoxList{Box{}, full, {full.columns, kEmptySet, full.inner}} : BoxList{};
  });
  ASSERT_EQ(placement.at(0).size(), 1u);
  EXPECT_EQ(placement.at(0).front(), full);
  EXPECT_TRUE(placement.at(1).empty());
  EXPECT_EQ(placement.ranks(), 2);
}

}  // namespace
}  // namespace spscope
