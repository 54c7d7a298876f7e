// Places of slots: two slots that share bytes are never in use at one time, and bytes are used again.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "backend/base/ids.h"
#include "backend/execute/program/slot_places.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::plan_of;
using testing::small_request;

SlotPlaces places_of(const Plan& plan, const MemoryLayout& layout) {
  return place_slots(plan, layout,
                     shared_slots(
                         plan, layout, [](int, int) { return true; }, [](int) { return true; }));
}

// When each slot was in use: from the post of its first writer to the end of its last user.
struct Life {
  std::int64_t from = std::numeric_limits<std::int64_t>::max(), to = std::numeric_limits<std::int64_t>::min();
};

std::vector<Life> lives(const Plan& plan, const MemoryLayout& layout, const Timeline& timeline) {
  std::vector<Life> lives(layout.slots().size());
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const TouchedSlots touched = touched_slots(plan, layout, plan.ops[id]);
    const auto use = [&](SlotId slot) {
      lives[at(slot)].from = std::min(lives[at(slot)].from, timeline.ops[id].post_ns);
      lives[at(slot)].to = std::max(lives[at(slot)].to, timeline.ops[id].end_ns);
    };
    for (SlotId slot : touched.read) use(slot);
    for (SlotId slot : touched.written) use(slot);
  }
  for (std::size_t value = 0; value < plan.values.size(); ++value)
    for (int rank = 0; rank < plan.ranks && plan.values[value].given; ++rank)
      if (const SlotId slot = layout.value_slot(static_cast<ValueId>(value), rank); slot != kNone)
        lives[at(slot)].from = 0;
  return lives;
}

void expect_apart(const Plan& plan, const MemoryLayout& layout, const SlotPlaces& places, const Timeline& timeline) {
  const auto num_slots = static_cast<SlotId>(layout.slots().size());
  const std::vector<Life> in_use = lives(plan, layout, timeline);
  for (SlotId a = 0; a < num_slots; ++a)
    for (SlotId b = a + 1; b < num_slots; ++b) {
      const std::int64_t a_at = places.offset[at(a)], b_at = places.offset[at(b)];
      if (a_at < 0 || b_at < 0 || layout.slot(a).rank != layout.slot(b).rank) continue;
      const bool share = a_at < b_at + layout.allocated_bytes(b) && b_at < a_at + layout.allocated_bytes(a);
      if (!share) continue;
      EXPECT_TRUE(in_use[at(a)].to <= in_use[at(b)].from || in_use[at(b)].to <= in_use[at(a)].from)
          << "slots " << a << " and " << b;
    }
  for (SlotId slot = 0; slot < num_slots; ++slot) {
    if (places.offset[at(slot)] < 0) continue;
    EXPECT_LE(places.offset[at(slot)] + layout.allocated_bytes(slot), places.bytes_of_rank[at(layout.slot(slot).rank)]);
  }
}

// Of slots that processes share, and of all.
void expect_apart(const Plan& plan, const Request& request) {
  const MemoryLayout layout(plan);
  const SlotPlaces shared = places_of(plan, layout), all = place_slots(plan, layout, used_slots(plan, layout));
  ExecuteOptions options;
  options.repeats = 5;
  for (const Timeline& timeline : execute(plan, request, generate_activations(request, 1), options).timelines) {
    expect_apart(plan, layout, shared, timeline);
    expect_apart(plan, layout, all, timeline);
  }
}

TEST(SlotPlaces, SlotsThatShareBytesAreNeverInUseTogether) {
  for (const int ranks : {2, 4, 8}) {
    const Request request = small_request(ranks);
    for (const char* strategy : {"ulysses", "ring", "usp", "dbsp"})
      if (find_strategy(strategy)->legal(request, Parameters(find_strategy(strategy)->parameters())).empty())
        expect_apart(plan_of(request, strategy), request);
  }
}

TEST(SlotPlaces, ARingUsesBytesAgain) {
  const Request request = small_request(8);
  const Plan plan = plan_of(request, "ring");
  const MemoryLayout layout(plan);
  const SlotPlaces places = places_of(plan, layout);
  for (int rank = 0; rank < 8; ++rank) {
    std::int64_t all = 0;
    int shared = 0;
    for (SlotId slot = 0; slot < static_cast<SlotId>(layout.slots().size()); ++slot)
      if (layout.slot(slot).rank == rank && places.offset[at(slot)] >= 0) all += layout.allocated_bytes(slot), ++shared;
    EXPECT_EQ(shared, 7);  // what is sent in each of 7 hops
    EXPECT_LT(places.bytes_of_rank[at(rank)], all * 2 / 3) << rank;
  }
}

// Memory that others write into, or read when they like, is not used for anything else.
TEST(SlotPlaces, WhatOthersPullFromKeepsItsBytes) {
  const Request request = small_request(4);
  PlanBuilder b(request);
  const Placement rows = testing::token_runs(b);
  auto [q, kv] = b.input_qkv(rows);
  const Placement everywhere = b.place([&](int) { return BoxList{request.whole()}; });
  const ValueId copy = b.local("copy", {&kv, 1});
  const ValueId all = b.wait(b.pull(copy, everywhere));
  b.output(b.attend_all(q, all), rows);
  const Plan plan = b.take();
  expect_apart(plan, request);
  const MemoryLayout layout(plan);
  const SlotPlaces places = places_of(plan, layout);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_GE(places.offset[at(layout.value_slot(copy, rank))], 0);
    EXPECT_EQ(places.offset[at(layout.value_slot(all, rank))], -1);
  }
}

TEST(SlotPlaces, NothingIsSharedWithNobody) {
  const Request request = small_request(4);
  const Plan plan = plan_of(request, "ring");
  const MemoryLayout layout(plan);
  const SlotPlaces places = place_slots(plan, layout,
                                        shared_slots(
                                            plan, layout, [](int, int) { return false; }, [](int) { return true; }));
  EXPECT_EQ(std::ranges::count(places.offset, -1), static_cast<std::ptrdiff_t>(layout.slots().size()));
  EXPECT_EQ(places.bytes_of_rank, std::vector<std::int64_t>(4, 0));
}

}  // namespace
}  // namespace spscope
