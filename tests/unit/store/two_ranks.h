// The fixture of tests of merging: two ranks with a shard each, and a head.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backend/store/merge/merge_shards.h"
#include "tests/unit/store/lod_brute_force.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope::testing {

inline MergeReport merge(const std::string& out, const std::vector<std::string>& shards,
                         const MergeOptions& options = {}) {
  OutputFile file(out, false);
  return merge_shards(file, shards, options);
}

// Two ranks with a track each, of 10,000 and 5,000 events in chunks of 700, whose names have other numbers.
class TwoRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    run_ = write_head(folder_ / "a.head.db", {{0, fits_[0]}, {1, fits_[1]}});
    Rng rng(5);
    for (int rank = 0; rank < 2; ++rank) {
      events_[rank] = random_events(rng, {.count = rank == 0 ? 10'000 : 5'000, .unfinished = false});
      for (SpanEvent& event : events_[rank]) {
        event.begin_ns += kRawZero;
        event.end_ns += kRawZero;
        event.name = 1 + event.name % 2;
        event.op_id = std::max<std::int64_t>(0, event.op_id);
      }
    }
  }
  void write_ranks() {
    for (int rank = 0; rank < 2; ++rank) {
      RankShard shard(shard_of(rank), rank);
      shard.add_track({TrackId{7}, rank, 0, 0, false});
      shard.add_string(1, rank == 0 ? "attend" : "norm");
      shard.add_string(2, rank == 0 ? "norm" : "attend");
      shard.add_events(run_, TrackId{7}, events_[rank], 700);
      shard.add_rank_repeat({run_, 0, rank, events_[rank].front().begin_ns, events_[rank].back().end_ns});
      shard.commit();
    }
  }
  // 2,000 kernels and copies on a stream of each rank, in chunks of 700, whose two details have other numbers; each is
  // the 1 + i % 2nd. Shards of a collector beside those of the ranks.
  void write_streams() {
    for (int rank = 0; rank < 2; ++rank) {
      RankShard shard(stream_of(rank), -1);
      shard.add_track({.track_id = TrackId{3}, .rank = rank, .kind = TrackKind::kDeviceStream, .name = "stream 7"});
      shard.add_string(4, "gemm");
      shard.add_detail(rank == 0 ? 1 : 6, kDetails[0]);
      shard.add_detail(rank == 0 ? 2 : 5, kDetails[1]);
      for (std::int64_t i = 0; i < 2'000; ++i)
        work_[rank].push_back(
            {{kRawZero + 10 * i, kRawZero + 10 * i + 9, i, 4, event_flags(EventCategory::kKernel)},
             64 * i,
             static_cast<std::uint32_t>(1'000 + i),
             rank == 0 ? 1 + static_cast<WorkDetailId>(i % 2) : 6 - static_cast<WorkDetailId>(i % 2)});
      shard.add_events(kNoRun, TrackId{3}, work_[rank], 700);
      shard.commit();
    }
  }
  // A shard of a collector beside those of the ranks, with one span on each of these tracks.
  std::string write_trace(const std::vector<Track>& tracks, const SpanEvent& span, const ClockFit* clock = nullptr) {
    RankShard shard(trace_, -1);
    if (clock != nullptr) shard.writer().add_rank_clock({kNoRank, *clock});
    for (std::int64_t i = 0; i < std::ssize(tracks); ++i) {
      Track track = tracks[static_cast<std::size_t>(i)];
      track.track_id = TrackId{i + 1};
      shard.add_track(track);
      shard.add_events(kNoRun, track.track_id, std::vector{span}, 10);
    }
    shard.commit();
    return trace_;
  }
  // A file of the ranks, with their streams.
  std::string write_merged() {
    write_ranks();
    write_streams();
    merge(folder_ / "out.db", shards_and({stream_of(0), stream_of(1)}));
    return folder_ / "out.db";
  }
  std::string stream_of(int rank) const { return folder_ / ("a.stream-" + std::to_string(rank) + ".db"); }
  std::string shard_of(int rank) const { return folder_ / ("a.rank-" + std::to_string(rank) + ".db"); }
  std::vector<std::string> shards() const { return {shard_of(1), folder_ / "a.head.db", shard_of(0)}; }

  std::vector<std::string> shards_and(const std::vector<std::string>& more) const {
    std::vector<std::string> all = shards();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // The formula of the specification, in a wider type; half a nanosecond is rounded either way.
  static std::int64_t run_clock(const ClockFit& fit, std::int64_t raw_ns) {
    const auto since = static_cast<long double>(raw_ns - fit.raw_zero_ns);
    return static_cast<std::int64_t>(std::round(since * (1 + static_cast<long double>(fit.drift)))) + fit.offset_ns;
  }

  static constexpr WorkDetail kDetails[2] = {{.grid = {8, 1, 1}, .block = {128, 1, 1}, .device = 0, .stream = 7},
                                             {.copy_kind = 8, .source_device = 0, .target_device = 1, .stream = 7}};
  static constexpr std::int64_t kRawZero = 1'000'000'000'000;
  const ClockFit fits_[2] = {
      {.raw_zero_ns = kRawZero, .offset_ns = 0, .drift = 0, .bound_ns = 0, .exchanges = 0},
      {.raw_zero_ns = kRawZero - 77, .offset_ns = 5'000, .drift = 50e-6, .bound_ns = 900, .exchanges = 12}};
  TemporaryFolder folder_;
  const std::string trace_ = folder_ / "a.rank-trace.db";
  RunId run_ = {};
  std::vector<SpanEvent> events_[2];
  std::vector<WorkEvent> work_[2];
};

}  // namespace spscope::testing
