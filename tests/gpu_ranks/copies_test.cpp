// What is enqueued for GPU ranks, beside that its results are right: as few copies as rows with a pitch allow, no
// kernel for rows that the attention kernel finishes, and blocks in the order that keeps keys in the cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "backend/execute/cuda/op_work.h"
#include "backend/execute/cuda/peer_copies.h"
#include "backend/execute/execute.h"
#include "backend/plan/plan_access.h"
#include "backend/strategies/strategy.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/gpu_ranks/small_workloads.h"

namespace spscope {
namespace {

using fake_cuda::FakeCuda;

// 4 heads, 48 tokens in blocks of 8, two samples: all divides.
constexpr TestedWorkload kEven{.name = "even", .heads = 4, .head_dim = 8, .grid = {1, 6, 8}, .block = 8, .batch = 2};

Plan plan_of(const Request& request, const char* strategy) {
  return make_plan(*find_strategy(strategy), request, Parameters(find_strategy(strategy)->parameters()));
}

ExecuteResult run(const Request& request, const char* strategy, int repeats = 1) {
  ExecuteOptions options;
  options.device = "cuda";
  options.repeats = repeats;
  return execute(plan_of(request, strategy), request, generate_activations(request, 1), options);
}

// Of a message of ulysses, each head is a run of tokens at both ends; runs of all heads have one pitch.
TEST(GpuCopies, AMessageOfHeadsIsOneCopyForEachTensorAndSample) {
  const Request request = make_request(kEven, *find_pattern("dense"), 2, Dtype::kBf16);
  const Plan plan = plan_of(request, "ulysses");
  const MemoryLayout layout(plan);
  cuda::DeviceSlots slots(plan, layout);
  for (int rank = 0; rank < plan.ranks; ++rank) slots.set_arena(rank, CUdeviceptr{1} << (32 + rank));
  CellFinder finder(plan, layout);
  int messages = 0;
  for (const Op& op : plan.ops) {
    const Post& post = plan.post_of(op);
    if (post.kind != PostKind::kExchange) continue;
    for (const MessageId id : plan.messages_of(op)) {
      const Message& m = plan.messages[static_cast<std::size_t>(id)];
      if (m.src == m.dst || m.dst != op.rank) continue;
      const auto from = finder.value_cells(source_of(plan, post, m), m.src, m.box);
      const auto to = finder.value_cells(post.dst, m.dst, m.box);
      const std::vector<cuda::PeerCopy> copies = cuda::peer_copies(slots, from, to);
      std::int64_t num_bytes = 0;
      for (const cuda::PeerCopy& copy : copies) num_bytes += copy.num_bytes();
      EXPECT_EQ(num_bytes, m.bytes);
      EXPECT_EQ(copies.size(), 2 * layout.buffer(from.front().buffer).planes.size());
      EXPECT_TRUE(std::ranges::all_of(copies, [](const cuda::PeerCopy& copy) { return copy.height == 2; }));
      ++messages;
    }
  }
  EXPECT_GT(messages, 0);
}

TEST(GpuLaunches, AProcessMakesTheContextOnceAndRepeatsTakeNothing) {
  const Request request = make_request(kEven, *find_pattern("dense"), 2, Dtype::kBf16);
  const Plan plan = plan_of(request, "ring");
  const FakeCuda fake("times=planted");
  for (const char* const strategy : {"ulysses", "ring", "ulysses"}) run(request, strategy);
  const long long urgent = fake.count("urgent streams");
  std::vector<long long> made;
  ExecuteOptions options;
  options.device = "cuda";
  options.repeats = 20;
  options.on_run = [&](int, int) { made.push_back(fake.count("made")); };
  execute(plan, request, generate_activations(request, 1), options);
  EXPECT_EQ(made, std::vector<long long>(20, made.front()));
  EXPECT_EQ(fake.count("contexts"), 1);
  EXPECT_EQ(fake.count("modules"), 1);
  // Streams that communicate are served before those that compute.
  std::set<std::pair<int, int>> communicating;
  for (const Op& op : plan.ops)
    if (plan.post_of(op).lane > 0) communicating.emplace(op.rank, plan.post_of(op).lane);
  EXPECT_FALSE(communicating.empty());
  EXPECT_EQ(fake.count("urgent streams") - urgent, std::ssize(communicating));
}

// An op says that it has ended, an exchange also that it posts and that it has its data. Nobody waits for the post of
// another op. An exchange waits for all its partners in one call, and for those that take from it.
TEST(GpuLaunches, NeighbouringWordsAreOneCall) {
  const FakeCuda fake("devices=4");
  const Request request = make_request(kEven, *find_pattern("dense"), 4, Dtype::kBf16);
  const Plan plan = plan_of(request, "ulysses");
  constexpr int kRuns = 2;  // in the second one peers can reach each other already
  for (int i = 0; i < kRuns; ++i) run(request, "ulysses");
  const auto exchanges = std::ranges::count_if(plan.ops, [&](const Op& op) { return communicates(plan.kind_of(op)); });
  EXPECT_EQ(fake.count("words"), kRuns * (std::ssize(plan.ops) + 2 * exchanges));
  EXPECT_LE(fake.count("calls for words"), kRuns * (std::ssize(plan.ops) + 4 * exchanges));
}

TEST(GpuLaunches, RowsThatAreAttendedOnceAreFinishedByTheSameKernel) {
  const auto launches_of = [](const char* strategy) {
    const FakeCuda fake;
    run(make_request(kEven, *find_pattern("dense"), 2, Dtype::kFp32), strategy, 2);
    return fake.count("launches");
  };
  EXPECT_EQ(launches_of("ulysses"), 2 * 2);   // an attend for each rank and repeat
  EXPECT_EQ(launches_of("ring"), 2 * 2 * 3);  // two steps and a finish
}

// The attend of one rank on a GPU of 4 SMs.
cuda::Launch attend_of(const Request& request, cuda::LaunchTable& table) {
  const Plan plan = plan_of(request, "single");
  const MemoryLayout layout(plan);
  cuda::DeviceSlots slots(plan, layout);
  slots.set_arena(0, CUdeviceptr{1} << 32);
  CellFinder finder(plan, layout);
  cuda::GpuFacts gpu;
  gpu.major = 9, gpu.num_sms = 4;
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    if (plan.kind_of(plan.ops[static_cast<std::size_t>(id)]) == PostKind::kAttend)
      return cuda::make_work(plan, cuda::plan_op(plan, request, finder, slots, id), slots, gpu, table).launches.front();
  throw std::runtime_error("the plan attends nothing");
}

// Blocks of 64 tokens that meet the same keys are rows for the kernel of 128.
TEST(GpuLaunches, NeighboursWithEqualKeysAreJoined) {
  constexpr TestedWorkload kWide{.name = "wide", .heads = 1, .head_dim = 64, .grid = {1, 16, 16}, .block = 64};
  cuda::LaunchTable table;
  const cuda::Launch attend = attend_of(make_request(kWide, *find_pattern("dense"), 1, Dtype::kBf16), table);
  EXPECT_EQ(attend.kernel.name, "spscope_attend_mma_128x64");
  EXPECT_EQ(attend.num_blocks, 2u);
}

// Of a head the stretches with the most keys, one head after the other; of the last ones, of all heads, likewise.
TEST(GpuLaunches, BlocksOfAHeadFollowEachOther) {
  namespace kc = kernels::cuda;
  constexpr TestedWorkload kLong{.name = "long", .heads = 4, .head_dim = 8, .grid = {1, 32, 24}, .block = 8};
  const std::size_t tail = 8 * 4;
  cuda::LaunchTable table;
  const auto attend =
      std::get<kc::Attend>(attend_of(make_request(kLong, *find_pattern("sparge"), 1, Dtype::kFp32), table).argument);
  const auto* const rows =
      reinterpret_cast<const kc::AttendRows*>(table.bytes().data() + reinterpret_cast<std::uintptr_t>(attend.rows));
  const std::span pieces(rows, static_cast<std::size_t>(attend.num_rows));
  ASSERT_GT(pieces.size(), 3 * tail);
  const auto head = pieces.first(pieces.size() - tail);
  const auto longest_first = [](const kc::AttendRows& a, const kc::AttendRows& b) {
    return a.num_tiles * a.rows > b.num_tiles * b.rows;  // blocks are of one length
  };
  for (std::size_t i = 1; i < head.size(); ++i) {
    EXPECT_GE(head[i].first_key, head[i - 1].first_key) << "the keys of a head come once";
    const bool same_head = head[i].first_key == head[i - 1].first_key;
    EXPECT_FALSE(same_head && longest_first(head[i], head[i - 1])) << i;
  }
  EXPECT_TRUE(std::ranges::is_sorted(pieces.last(tail), longest_first));
  EXPECT_FALSE(std::ranges::is_sorted(pieces, longest_first)) << "all have one length, or the heads are mixed";
}

// What a driver may do that ours has not been seen to: both have a way out.
TEST(GpuCopies, DriversThatRefusePitchesOrAnswerEarlyGiveTheSameResults) {
  const Request request = make_request(kEven, *find_pattern("sparge"), 2, Dtype::kFp32);
  const auto output = [&](const char* settings) {
    const FakeCuda fake(settings);
    const ExecuteResult result = run(request, "ulysses");
    EXPECT_EQ(fake.fault(), "");
    return result.outputs.front().values;
  };
  const auto expected = output("");
  EXPECT_EQ(output("pitch=0"), expected);
  EXPECT_EQ(output("unready=1"), expected);
}

}  // namespace
}  // namespace spscope
