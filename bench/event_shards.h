// Shards of made-up events, for the benches of the store and of the desktop app: ranks that do the same pass again and
// again, of which two in five events are transfers, which wait for a partner first.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/base/rng.h"
#include "backend/collect/shard_writer.h"
#include "backend/record/event_ring.h"

namespace spscope {

inline constexpr const char* kBenchCollection = "0123456789abcdef0123456789abcdef";
inline constexpr std::size_t kBenchRing = 256 << 10;  // records

struct BenchKernel {
  NameId name = 0;
  EventCategory category = EventCategory::kOther;
  std::int64_t usual_ns = 0;
  std::int64_t waits_ns = 0;  // at most; 0: no transfer
};

struct BenchPasses {
  int ranks = 1;
  std::vector<BenchKernel> kernels;  // of a pass, in their order
  // By rank and pass: its run, when it begins after the last event ended, and the length of its kernels over the usual.
  std::function<RunId(std::int64_t pass)> run;
  std::function<std::int64_t(std::int64_t pass, std::int64_t last_ns, Rng& jitter)> begin_ns;
  std::function<double(int rank, std::int64_t pass)> slowness = [](int, std::int64_t) { return 1.0; };
};

class RankEvents {
 public:
  RankEvents(int rank, const BenchPasses& passes)
      : rank_(rank), passes_(passes), jitter_(static_cast<std::uint64_t>(rank) + 1) {}

  std::vector<RingRecord> next(std::int64_t count) {
    std::vector<RingRecord> records(static_cast<std::size_t>(count));
    for (RingRecord& record : records) {
      const std::int64_t pass = made_ / std::ssize(passes_.kernels), op = made_ % std::ssize(passes_.kernels);
      ++made_;
      const BenchKernel& kernel = passes_.kernels[static_cast<std::size_t>(op)];
      if (op == 0) at_ns_ = passes_.begin_ns(pass, at_ns_, jitter_);
      SpanEvent& span = record.span;
      span.begin_ns = at_ns_ += 100 + jitter_.below(400);
      std::int64_t length_ns = kernel.usual_ns;
      if (kernel.waits_ns > 0) {
        record.kind = RingKind::kCollective;
        record.transfer_begin_ns = at_ns_ += jitter_.below(kernel.waits_ns);
        record.sequence = op;
        record.bytes = 100'000 + 1000 * (op % 7);
        record.peer = (rank_ + 1) % passes_.ranks;
      } else {
        length_ns = static_cast<std::int64_t>(static_cast<double>(length_ns) * passes_.slowness(rank_, pass));
      }
      span.end_ns = at_ns_ += length_ns + jitter_.below(length_ns / 4);
      span.op_id = op * passes_.ranks + rank_;
      span.name = kernel.name;
      span.flags = event_flags(kernel.category);
      record.run = passes_.run(pass);
    }
    return records;
  }

 private:
  const int rank_;
  const BenchPasses& passes_;
  Rng jitter_;
  std::int64_t made_ = 0, at_ns_ = 0;
};

// Seconds from the first push to the last commit, those aside that making the events takes. The lane waits where a real
// one would drop, so that the writer is what is measured. Throws Error.
inline double write_bench_shard(const std::string& path, int rank, const std::vector<std::string>& names,
                                const BenchPasses& passes, std::int64_t num_events) {
  constexpr std::int64_t kMostInMemory = 2'000'000;
  ShardWriterOptions options;
  options.shard = {.kind = ShardKind::kRank, .clock = ShardClock::kRaw, .rank = rank, .collection = kBenchCollection};
  ShardWriter writer(path, options);
  for (const std::string& name : names) writer.name(name);
  EventRing& ring = writer.ring({.rank = rank, .lane = 0}, kBenchRing);
  RankEvents events(rank, passes);
  std::int64_t spent_ns = 0;
  while (num_events > 0) {
    const std::vector<RingRecord> records = events.next(std::min(num_events, kMostInMemory));
    num_events -= std::ssize(records);
    const std::int64_t begin_ns = now_ns();
    std::thread lane([&] {
      for (const RingRecord& record : records)
        while (!ring.push(record)) std::this_thread::yield();
    });
    lane.join();
    if (num_events == 0) writer.finish();
    spent_ns += now_ns() - begin_ns;
  }
  if (const std::optional<Error> failure = writer.failure()) throw *failure;
  return static_cast<double>(spent_ns) * 1e-9;
}

}  // namespace spscope
