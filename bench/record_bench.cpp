// What recording an op costs its rank's thread: three writes to its line of the now page and one record in its ring, as
// an executor makes them, without the clock. At most 100 ns. store_bench measures what becomes of the records then.
//
// The median over the repeats; beside it what a memory copy moves on this machine. Exits with 1 when the limit is
// missed and --strict-times is given.
//
//   record_bench [--repeats 5] [--strict-times] [--json]
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/base/median.h"
#include "backend/cli/run_recorder.h"
#include "backend/strategies/strategy.h"
#include "kernels/calibrate.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostLaneNs = 100;

struct Options {
  int repeats = 5;
  bool strict_times = false, json = false;
};

BlockMask dense_mask(int heads) {
  BlockMask mask(heads, BlockMask::uniform_starts(1024, 64));
  for (int h = 0; h < heads; ++h)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k) mask.set(h, q, k);
  return mask;
}

Plan ring_plan(int ranks) {
  const Strategy& ring = *find_strategy("ring");
  return make_plan(ring, Request::attention(ranks, 4, 8, dense_mask(4)), Parameters(ring.parameters()));
}

ShardWriterOptions shard_options() {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, 0, std::string(32, '0')};
  return options;
}

// Nanoseconds of one op of one lane, over passes of a real plan.
double lane_ns(const Plan& plan) {
  constexpr int kRank = 1, kPasses = 2000;
  const TemporaryFolder folder;
  ShardWriter shard(folder / "run.rank-0.db", shard_options());
  NowPageWriter page(folder / "run.rank-0.now", this_process(0, plan.ranks, plan.lanes, {}));
  RunRecorder recorder(shard, page, 0, plan.ranks, plan.lanes);
  recorder.prepare(RunId{1}, plan);
  std::vector<OpId> ops;
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    if (plan.ops[id].rank == kRank && plan.post_of(plan.ops[id]).lane == 0) ops.push_back(static_cast<OpId>(id));
  std::int64_t clock = 0, spent = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    recorder.begin_pass(0);
    const std::int64_t begin = now_ns();
    for (const OpId op : ops) {
      recorder.enter(kRank, 0, op, clock);
      recorder.phase(kRank, 0, op, OpPhase::kComputing, clock);
      recorder.ended(kRank, 0, op, {clock, clock, clock + 900});
      clock += 1000;
    }
    spent += now_ns() - begin;
  }
  shard.finish();
  for (const ShardWriter::LaneCount& count : shard.counts()) SPSCOPE_CHECK(count.sent == count.stored + count.dropped);
  return static_cast<double>(spent) / (static_cast<double>(kPasses) * static_cast<double>(ops.size()));
}

int run(const Options& options) {
  const Plan plan = ring_plan(8);
  std::vector<double> samples;
  for (int i = 0; i < options.repeats; ++i) samples.push_back(lane_ns(plan));
  const double lane = median(samples), copy = kernels::measure_copy_gbps();
  if (options.json)
    std::cout << Json{{"memory_copy_gbps", copy}, {"lane_ns_per_event", lane}}.dump(2) << '\n';
  else
    std::cout << "memory copy      " << copy << " GB/s\n"
              << "lane             " << lane << " ns an event (at most " << kMostLaneNs << ")\n";
  return options.strict_times && lane > kMostLaneNs ? 1 : 0;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  spscope::Options options;
  const auto number = [&](int i, auto& value) {
    const std::string_view text = i < argc ? argv[i] : "";
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    bool known = true;
    if (flag == "--repeats")
      known = number(++i, options.repeats) && options.repeats >= 1;
    else if (flag == "--strict-times")
      options.strict_times = true;
    else if (flag == "--json")
      options.json = true;
    else
      known = false;
    if (!known) {
      std::cerr << "record_bench [--repeats N] [--strict-times] [--json]\n";
      return 2;
    }
  }
  return spscope::run(options);
}
