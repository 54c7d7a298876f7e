// Memory: where boxes lie, how they are copied, and what is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <thread>

#include "backend/base/result.h"
#include "backend/execute/cpu/buffer_store.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/lanes/run_control.h"
#include "backend/execute/program/memory_layout.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::small_request;
using testing::small_spatiotemporal_request;

SetId random_set(SetTable& sets, Rng& rng, std::int32_t size) {
  std::vector<std::int32_t> members;
  for (std::int32_t i = 0; i < size; ++i)
    if (rng.uniform() < 0.5) members.push_back(i);
  if (members.empty()) members.push_back(0);
  return sets.indices(members);
}

// What a box of q, as rank 0 of a plan holds it, reads from the whole array, cell by cell.
std::vector<float> expected_cells(const Request& request, const Activations& a, const Box& box) {
  std::vector<float> out;
  for (const Span& columns : request.sets->spans(box.columns))
    for (int head = columns.begin; head < columns.end; ++head)
      for (const Span& rows : request.sets->spans(box.outer))
        for (std::int32_t outer = rows.begin; outer < rows.end; ++outer)
          for (const Span& run : request.sets->spans(box.inner))
            for (std::int32_t inner = run.begin; inner < run.end; ++inner)
              for (int d = 0; d < a.head_dim; ++d)
                out.push_back(
                    a.attentions[0].q[static_cast<std::size_t>(a.row(0, head, outer, inner) * a.head_dim + d)]);
  return out;
}

// A value of two boxes that share the tokens of a random box between them, read back through random sub-boxes.
TEST(Cells, ABoxIsFoundWhereverItsBuffersAre) {
  Rng rng(17);
  const Request request = small_spatiotemporal_request(1);
  const Activations activations = generate_activations(request, 3);
  for (int trial = 0; trial < 200; ++trial) {
    PlanBuilder b(request);
    SetTable& sets = b.sets();
    const Box held{random_set(sets, rng, 4), random_set(sets, rng, 5), random_set(sets, rng, 100)};
    const SetId half = sets.both(held.inner, random_set(sets, rng, 100)), rest = sets.minus(held.inner, half);
    const ValueId q = b.input(kQueries, b.place([&](int) {
      return BoxList{{held.columns, held.outer, half}, {held.columns, held.outer, rest}};
    }));
    const Plan plan = b.take();
    const MemoryLayout layout(plan);
    CellFinder finder(plan, layout);
    BufferStore store(layout);
    store.start(std::vector<std::int32_t>(layout.slots().size(), 1));
    const SlotId slot = layout.value_slot(q, 0);
    ASSERT_TRUE(store.open(slot));
    fill_slot(store, plan, activations, slot);
    const Box part{sets.both(held.columns, random_set(sets, rng, 4)), sets.both(held.outer, random_set(sets, rng, 5)),
                   sets.both(held.inner, random_set(sets, rng, 100))};
    if (part.empty()) continue;
    const std::vector<float> expected = expected_cells(request, activations, part);
    const std::vector<CellRun> cells = finder.value_cells(q, 0, part);
    EXPECT_EQ(total_cells(cells), volume(sets, part));
    std::vector<float> got(expected.size());
    load_cells(store, cells, 0, 0, got);
    EXPECT_EQ(got, expected) << trial;
  }
}

TEST(Cells, WhatARankDoesNotHoldIsAnError) {
  const Request request = small_request(1);
  PlanBuilder b(request);
  const ValueId q = b.input(kQueries, b.place([&](int) {
    return BoxList{{request.all_heads(), request.all_outer(), b.sets().span(0, 50)}};
  }));
  const Plan plan = b.take();
  const MemoryLayout layout(plan);
  CellFinder finder(plan, layout);
  EXPECT_THROW((void)finder.value_cells(q, 0, request.whole()), Error);
}

TEST(MemoryLayout, CountsTheBytesOfThePlanWithBatchAndUnfinishedRows) {
  Request request = small_request(1, Dtype::kBf16);
  request.batch = 3;
  PlanBuilder b(request);
  const auto [q, kv] = b.input_qkv(b.place([&](int) { return BoxList{request.whole()}; }));
  const AccId acc = b.accumulate(q);
  b.attend(acc, kv);
  const ValueId part = b.partial(acc);
  const Plan plan = b.take();
  const MemoryLayout layout(plan);
  const std::int64_t rows = 3 * 4 * 100;
  EXPECT_EQ(layout.slot(layout.value_slot(q, 0)).num_bytes, rows * 8 * 2);
  EXPECT_EQ(layout.slot(layout.value_slot(kv, 0)).num_bytes, 2 * rows * 8 * 2);
  EXPECT_EQ(layout.slot(layout.value_slot(part, 0)).num_bytes, rows * (8 + 2) * 4);
  EXPECT_EQ(layout.slot(layout.accumulator_slot(acc, 0)).num_bytes, rows * (8 + 2) * 4);
}

TEST(BufferStore, TheLastUserGivesTheBuffersUp) {
  const Request request = small_request(1);
  const Plan plan = testing::plan_of(request, "single");
  const MemoryLayout layout(plan);
  BufferStore store(layout, true);
  std::vector<std::int32_t> users(layout.slots().size(), 2);
  store.start(users);
  EXPECT_TRUE(store.open(0));
  EXPECT_FALSE(store.open(0));
  std::fill_n(store.floats(0, 0, 0, 0), 8, 1.0f);
  const std::byte* before = store.address(0, 0, 0, 0);
  store.release(0);
  EXPECT_TRUE(store.is_open(0));
  store.release(0);
  EXPECT_FALSE(store.is_open(0));
  EXPECT_EQ(store.peak_bytes(), std::vector<std::int64_t>{layout.slot(0).num_bytes});
  // The next run takes the same memory from the pool, and finds nothing of the last one in it.
  store.start(users);
  store.open(0);
  EXPECT_EQ(store.address(0, 0, 0, 0), before);
  EXPECT_TRUE(std::isnan(*store.floats(0, 0, 0, 0)));
}

#ifndef SPSCOPE_SANITIZED  // whose allocators end the program
// 7 petabytes: the slot is closed again, and nobody waits for it.
TEST(BufferStore, ASlotWithoutMemoryStaysClosed) {
  Request request = Request::attention(1, 4, 4096, testing::random_mask(4, 100, 16, 0.6), Dtype::kFp32);
  request.batch = 1 << 30;
  PlanBuilder b(request);
  b.input(kQueries, b.place([&](int) { return BoxList{request.whole()}; }));
  const Plan plan = b.take();
  const MemoryLayout layout(plan);
  std::vector<SlotState> states(layout.slots().size());
  std::vector<MemoryAccount> accounts(1);
  BufferStore store(layout, false, {0, 1}, {{}, states, accounts});
  store.start(std::vector<std::int32_t>(states.size(), 1));
  for (int tries = 0; tries < 2; ++tries) {
    EXPECT_THROW(store.open(0), std::bad_alloc);
    EXPECT_EQ(states[0].phase, SlotState::kClosed);
  }
  EXPECT_EQ(accounts[0].live_bytes, 0);
}
#endif

// Another process began to open the slot and was killed: once the run stops, nobody waits for it.
TEST(BufferStore, NobodyWaitsForASlotOnceTheRunStops) {
  const Request request = small_request(1);
  const Plan plan = testing::plan_of(request, "single");
  const MemoryLayout layout(plan);
  std::vector<SlotState> states(layout.slots().size());
  std::vector<MemoryAccount> accounts(1);
  BufferStore store(layout, false, {0, 1}, {{}, states, accounts});
  store.start(std::vector<std::int32_t>(states.size(), 1));
  states[0].phase = SlotState::kOpening;
  std::atomic<bool> stopping{false};
  store.watch_stop(stopping);
  std::thread lane([&] { EXPECT_THROW(store.open(0), StopLane); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  stopping = true;
  lane.join();
  // The opener fails instead: who waits opens the slot itself.
  stopping = false;
  std::thread other([&] { EXPECT_TRUE(store.open(0)); });
  states[0].phase = SlotState::kClosed;
  other.join();
  EXPECT_TRUE(store.is_open(0));
}

TEST(Activations, AreTheSameForTheSameSeedAndRounded) {
  const Request fp32 = small_request(1), bf16 = small_request(1, Dtype::kBf16);
  const Activations a = generate_activations(fp32, 1), b = generate_activations(fp32, 1),
                    c = generate_activations(fp32, 2);
  EXPECT_EQ(a.attentions[0].q, b.attentions[0].q);
  EXPECT_NE(a.attentions[0].q, c.attentions[0].q);
  EXPECT_NE(a.attentions[0].q, a.attentions[0].k);
  const Activations rounded = generate_activations(bf16, 1);
  for (std::size_t i = 0; i < rounded.attentions[0].v.size(); ++i)
    ASSERT_EQ(rounded.attentions[0].v[i], to_float(to_bf16(a.attentions[0].v[i])));
}

TEST(Activations, BadArraysAreAllNamed) {
  const Request request = small_request(1);
  std::vector<AttentionInput> arrays(1, generate_activations(request, 1).attentions[0]);
  EXPECT_NO_THROW(make_activations(request, arrays));
  arrays[0].q.pop_back();
  arrays[0].v[7] = std::numeric_limits<float>::infinity();
  const std::optional<Error> error = failure_of([&] { make_activations(request, arrays); });
  ASSERT_TRUE(error && error->problems().size() == 2);
  EXPECT_EQ(error->problems()[0].field, "activations.0.q");
  EXPECT_EQ(error->problems()[1].field, "activations.0.v");
  EXPECT_NE(error->problems()[1].message.find("inf at element 7"), std::string::npos);
}

// Finite as they are given, and not in bf16; finite themselves, and not their scores or sums.
TEST(Activations, ThatOverflowAreRefusedBeforeAnyStrategyRuns) {
  const auto field_of = [](Dtype dtype, auto&& change) -> std::string {
    const Request request = small_request(1, dtype);
    std::vector<AttentionInput> arrays(1, generate_activations(request, 1).attentions[0]);
    change(arrays[0]);
    const std::optional<Error> error = failure_of([&] { make_activations(request, std::move(arrays)); });
    return error ? error->problems().at(0).field : "none";
  };
  const auto one_large = [](AttentionInput& input) { input.q[3] = 3.4e38f; };
  EXPECT_EQ(field_of(Dtype::kBf16, one_large), "activations.0.q");
  const auto scaled = [&](float q, float k, float v) {
    return field_of(Dtype::kFp32, [&](AttentionInput& input) {
      for (auto [array, factor] : {std::pair(&input.q, q), std::pair(&input.k, k), std::pair(&input.v, v)})
        for (float& x : *array) x *= factor;
    });
  };
  EXPECT_EQ(scaled(1e19f, 1e19f, 1), "activations.0.q");
  EXPECT_EQ(field_of(Dtype::kFp32, [](AttentionInput& input) { input.v[5] = 2e37f; }), "activations.0.v");
  EXPECT_EQ(scaled(1e15f, 1, 1e30f), "none");
}

}  // namespace
}  // namespace spscope
