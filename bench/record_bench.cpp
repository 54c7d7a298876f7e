// What control and recording cost a rank's thread for an op, with the look at the clock that an executor takes only
// when it records:
//
//   compute   a kernel: three writes to the lane's line of the now page and one record in its ring
//   hop       a ring's transfer to one partner: four writes and a look at the partner
//   exchange  a transfer among 8 ranks, all of which have posted: four writes and a look at each partner
//   publish   one write to a page on a disk file system, the slowest one, while the page is flushed all the time: then
//             the kernel may take it away from the writer for a moment
//
// Each of the first three at most 100 ns. store_bench measures what becomes of the records then. Medians over the
// repeats; beside them what a memory copy moves on this machine. Exits with 1 when a limit is missed and --strict-times
// is given.
//
//   record_bench [--repeats 5] [--folder DIR] [--strict-times] [--json]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/base/median.h"
#include "backend/collect/run_recorder.h"
#include "backend/execute/lanes/run_control.h"
#include "backend/strategies/strategy.h"
#include "bench/flags.h"
#include "kernels/calibrate.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostLaneNs = 100;

struct Options {
  int repeats = 5;
  std::string folder = std::filesystem::temp_directory_path().string();  // of the page that is flushed
  bool strict_times = false, json = false;
};

BlockMask dense_mask(int heads) {
  BlockMask mask(heads, BlockMask::uniform_starts(1024, 64));
  for (int h = 0; h < heads; ++h)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k) mask.set(h, q, k);
  return mask;
}

Plan plan_of(std::string_view strategy) {
  const Strategy& found = *find_strategy(strategy);
  return make_plan(found, Request::attention(8, 8, 8, dense_mask(8)), Parameters(found.parameters()));
}

ShardWriterOptions shard_options() {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, 0, std::string(32, '0')};
  return options;
}

// The ops of rank 1 of a plan that compute, or that move data between so many ranks.
std::vector<OpId> ops_of(const Plan& plan, int partners) {
  std::vector<OpId> ops;
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const Op& op = plan.ops[id];
    const bool moves = communicates(plan.kind_of(op));
    if (op.rank != 1 || moves != (partners > 0)) continue;
    if (!moves || std::ssize(plan.group(op.group)) >= partners) ops.push_back(static_cast<OpId>(id));
  }
  SPSCOPE_CHECK(!ops.empty());
  return ops;
}

// Nanoseconds of one op of rank 1, as its executor makes the calls; `partners` of a transfer, which have all posted.
double op_ns(const Plan& plan, int partners) {
  constexpr int kRank = 1, kOps = 16'000;  // as many as the smallest ring takes
  const TemporaryFolder folder;
  ShardWriter shard(folder / "run.rank-0.db", shard_options());
  NowPageWriter page(folder / "run.rank-0.now", this_process(0, plan.ranks, plan.lanes, {}));
  RunRecorder recorder(shard, page, 0, plan.ranks, plan.lanes);
  recorder.prepare(RunId{1}, plan);
  RunControl control(plan, &recorder);
  for (OpId op = 0; op < static_cast<OpId>(plan.ops.size()); ++op) control.set_posted(op);
  const std::vector<OpId> ops = ops_of(plan, partners);
  std::int64_t last_end_ns = 0;
  recorder.begin_repeat(0);
  control.begin_repeat(recorder.run(), 0);
  const std::int64_t begin = now_ns();
  for (int i = 0; i < kOps; ++i) {
    const OpId op = ops[static_cast<std::size_t>(i) % ops.size()];
    const int lane = plan.post_of(plan.ops[static_cast<std::size_t>(op)]).lane;
    const std::int64_t now = now_ns();
    control.enter(kRank, lane, op, now);
    if (partners == 0) {
      control.turn(kRank, lane, LaneState::kComputing, now);
    } else {
      control.turn(kRank, lane, LaneState::kWaitingForPeer, now);
      for (int partner = 0; partner < partners; ++partner)
        control.wait_posted(kRank, lane, static_cast<OpId>((i * partners + partner) % std::ssize(plan.ops)));
      control.turn(kRank, lane, LaneState::kTransferring, now);
    }
    last_end_ns = std::max(last_end_ns + 1, now);
    control.leave(kRank, lane, recorder.ended(kRank, lane, op, {now, now, last_end_ns}), false);
  }
  const std::int64_t spent = now_ns() - begin;
  shard.finish();
  for (const ShardWriter::TrackCount& count : shard.counts()) SPSCOPE_CHECK(count.dropped == 0);
  return static_cast<double>(spent) / kOps;
}

// Nanoseconds of the slowest of the publishes of half a second while another thread flushes the page.
double slowest_publish_ns(const std::string& parent) {
  constexpr std::int64_t kSpan = 500'000'000;
  std::string folder = parent + "/spscope-page-XXXXXX";
  SPSCOPE_CHECK(mkdtemp(folder.data()) != nullptr);
  std::int64_t slowest = 0;
  {
    NowPageWriter page(folder + "/run.rank-0.now", this_process(0, 8, 2, {}));
    const int file = ::open(page.path().c_str(), O_RDONLY | O_CLOEXEC);
    SPSCOPE_CHECK(file >= 0);
    std::jthread flush([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        SPSCOPE_CHECK(::fsync(file) == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    NowLine& line = page.line(0, 0);
    LaneNow now;
    const std::int64_t end = now_ns() + kSpan;
    for (std::int64_t before = now_ns(); before < end;) {
      ++now.sent;
      line.publish(now);
      const std::int64_t after = now_ns();
      slowest = std::max(slowest, after - before);
      before = after;
    }
    flush.request_stop();
    flush.join();
    ::close(file);
  }
  std::filesystem::remove_all(folder);
  return static_cast<double>(slowest);
}

int run(const Options& options) {
  const Plan ring = plan_of("ring"), ulysses = plan_of("ulysses");
  const auto median_of = [&](const Plan& plan, int partners) {
    std::vector<double> samples;
    for (int i = 0; i < options.repeats; ++i) samples.push_back(op_ns(plan, partners));
    return median(samples);
  };
  const double compute = median_of(ring, 0), hop = median_of(ring, 1), exchange = median_of(ulysses, 7);
  const double slowest = slowest_publish_ns(options.folder), copy = kernels::measure_copy_gbps();
  if (options.json)
    std::cout << Json{{"memory_copy_gbps", copy},
                      {"compute_ns", compute},
                      {"hop_ns", hop},
                      {"exchange_of_8_ns", exchange},
                      {"slowest_publish_ns", slowest}}
                     .dump(2)
              << '\n';
  else
    std::cout << "memory copy      " << copy << " GB/s\n"
              << "compute          " << compute << " ns an op (at most " << kMostLaneNs << ")\n"
              << "hop              " << hop << " ns an op (at most " << kMostLaneNs << ")\n"
              << "exchange of 8    " << exchange << " ns an op (at most " << kMostLaneNs << ")\n"
              << "slowest publish  " << slowest * 1e-3 << " us, in " << options.folder << ", flushed every 2 ms\n";
  return options.strict_times && std::max({compute, hop, exchange}) > kMostLaneNs ? 1 : 0;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  spscope::Options options;
  if (!spscope::read_flags(argc, argv,
                           {{"--repeats", &options.repeats},
                            {"--folder", &options.folder},
                            {"--strict-times", &options.strict_times},
                            {"--json", &options.json}})) {
    std::cerr << "usage: record_bench [--repeats N] [--folder DIR] [--strict-times] [--json]\n";
    return 2;
  }
  return spscope::run(options);
}
