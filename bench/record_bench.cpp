// What recording costs, and how much of it one writer takes.
//
//   lane    an op on the rank's thread: three writes to its line of the now page and one record in its ring, as an
//           executor makes them, without the clock. At most 100 ns
//   writer  events a second from rings to a shard on disk, in chunks and commits, by the one thread that writes, while
//           another one fills the rings. At least 6 M/s. Bytes an event are those of the shard and its log
//
// Medians over the repeats. Beside them stands what memcpy moves on this machine. Exits with 1 when a limit is missed
// and --strict-times is given.
//
//   record_bench [--events 4000000] [--repeats 5] [--strict-times] [--json]
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
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
#include "backend/base/rng.h"
#include "backend/cli/run_recorder.h"
#include "backend/strategies/strategy.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostLaneNs = 100, kLeastWriterEvents = 6e6;

struct Options {
  std::int64_t events = 4'000'000;
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

double memcpy_bytes_per_second() {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  std::vector<char> from(kBytes, 1), to(kBytes, 2);
  std::vector<std::int64_t> took;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t begin = now_ns();
    std::memcpy(to.data(), from.data(), kBytes);
    took.push_back(now_ns() - begin);
    SPSCOPE_CHECK(to[static_cast<std::size_t>(i)] == 1);
  }
  return static_cast<double>(kBytes) / (static_cast<double>(median(took)) * 1e-9);
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

struct WriterRate {
  double per_second = 0, bytes_per_event = 0;
};

// Two lanes of events with the times and ops of real runs: short gaps, durations of microseconds, a transfer in three.
WriterRate writer_rate(std::int64_t events) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.rank-0.db";
  ShardWriter shard(path, shard_options());
  EventRing* const rings[] = {&shard.ring(0, 0, 1 << 18), &shard.ring(0, 1, 1 << 18)};
  std::vector<RingRecord> pattern(1 << 14);
  Rng rng(3);
  for (RingRecord& record : pattern) {
    record.run = RunId{1};
    record.span.op_id = rng.below(4000);
    record.span.name = static_cast<NameId>(rng.below(40));
    record.span.flags = event_flags(EventCategory::kAttend);
    record.span.begin_ns = 100 + rng.below(2000);      // here: the gap
    record.span.end_ns = 1000 + rng.below(1'000'000);  // here: the duration
  }
  const std::int64_t begin = now_ns();
  std::thread lanes([&] {
    std::int64_t clock[2] = {0, 0};
    for (std::int64_t i = 0; i < events; ++i) {
      const auto lane = static_cast<std::size_t>(i & 1);
      RingRecord record = pattern[static_cast<std::size_t>(i) % pattern.size()];
      clock[lane] += record.span.begin_ns;
      record.span.begin_ns = clock[lane];
      clock[lane] += record.span.end_ns;
      record.span.end_ns = clock[lane];
      record.is_collective = lane;
      record.transfer_begin_ns = record.span.begin_ns + 50;
      record.sequence = i;
      record.bytes = 1 << 20;
      while (!rings[lane]->push(record)) std::this_thread::yield();  // a rank would drop it; here all must arrive
    }
  });
  lanes.join();
  shard.finish();
  const double seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  std::int64_t stored = 0;
  for (const ShardWriter::LaneCount& count : shard.counts()) stored += count.stored;
  SPSCOPE_CHECK(stored == events && !shard.failure());
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(path.substr(0, path.rfind('/'))))
    bytes += file.file_size();
  return {static_cast<double>(events) / seconds, static_cast<double>(bytes) / static_cast<double>(events)};
}

template <typename Measure>
double median_of(int repeats, Measure&& measure) {
  std::vector<double> values;
  for (int i = 0; i < repeats; ++i) values.push_back(measure());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int run(const Options& options) {
  const Plan plan = ring_plan(8);
  const double memcpy_rate = memcpy_bytes_per_second();
  const double lane = median_of(options.repeats, [&] { return lane_ns(plan); });
  double bytes = 0;
  const double writer = median_of(options.repeats, [&] {
    const WriterRate rate = writer_rate(options.events);
    bytes = rate.bytes_per_event;
    return rate.per_second;
  });
  if (options.json) {
    std::cout << Json{{"memcpy_gb_per_s", memcpy_rate * 1e-9},
                      {"lane_ns_per_event", lane},
                      {"writer_events_per_s", writer},
                      {"shard_bytes_per_event", bytes}}
                     .dump(2)
              << '\n';
  } else {
    std::cout << "memcpy           " << memcpy_rate * 1e-9 << " GB/s\n"
              << "lane             " << lane << " ns an event (at most " << kMostLaneNs << ")\n"
              << "writer           " << writer * 1e-6 << " M events/s (at least " << kLeastWriterEvents * 1e-6 << ")\n"
              << "shard            " << bytes << " bytes an event\n";
  }
  return options.strict_times && (lane > kMostLaneNs || writer < kLeastWriterEvents) ? 1 : 0;
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
    if (flag == "--events")
      known = number(++i, options.events);
    else if (flag == "--repeats")
      known = number(++i, options.repeats);
    else if (flag == "--strict-times")
      options.strict_times = true;
    else if (flag == "--json")
      options.json = true;
    else
      known = false;
    if (!known) {
      std::cerr << "record_bench [--events N] [--repeats N] [--strict-times] [--json]\n";
      return 2;
    }
  }
  return spscope::run(options);
}
