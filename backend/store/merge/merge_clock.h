// Which line takes the raw clock of each rank, and of tracks that have none, to the run clock. In order: the fit that
// the run stored; a fit of the exchanges that it stored; the run's zero on the clock of the same host, which all
// processes there share. A rank of another host without any exchange is lined up at its first event, and its bound says
// that nothing is known. Tracks that are not lanes of ranks are on the clock that their shard gives; without one, on
// that of the rank they name, else on that of the rank of their shard, else on the raw clock of the host of the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/base/clock_fit.h"
#include "backend/store/merge/merge_input.h"

namespace spscope {

class MergeClocks {
 public:
  // Of the ranks of shards with raw clocks.
  MergeClocks(std::span<const MergeSource> sources, Damage& damage);

  // The line of a rank, or of a track; a null pointer when the shard is on the run clock.
  const ClockFit* fit(const MergeSource& source, int rank) const;
  const ClockFit* fit(const MergeSource& source, const Track& track) const;
  const std::map<int, ClockFit>& fits() const { return fits_; }  // by rank
  // By rank, as the shards hold them.
  const std::map<int, std::vector<ClockSample>>& exchanges() const { return exchanges_; }

 private:
  std::map<int, ClockFit> fits_;
  std::map<const MergeSource*, ClockFit> of_sources_;    // that shards give for tracks that are not lanes of ranks
  std::map<const MergeSource*, ClockFit> without_rank_;  // of tracks without a rank, of the other shards
  std::map<int, std::vector<ClockSample>> exchanges_;
};

// A moment on the run clock. kNeverEnded stays what it is.
inline std::int64_t on_run_clock(const ClockFit* fit, std::int64_t time_ns) {
  return fit == nullptr || time_ns == kNeverEnded ? time_ns : run_time_ns(*fit, time_ns);
}

}  // namespace spscope
