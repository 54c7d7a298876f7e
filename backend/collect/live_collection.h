// LiveCollection: what a run in progress has done so far, for observers such as `watch`.
//
// Only reads. Shards that are made later are picked up, and the run may end at any moment: a shard that was removed
// adds nothing any more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/collect/collection.h"
#include "backend/store/live_shard.h"

namespace spscope {

class LiveCollection {
 public:
  explicit LiveCollection(CollectingNote note);

  const CollectingNote& note() const { return note_; }
  // Looks for new shards and for what was committed since the last time.
  void poll();
  int num_shards() const { return static_cast<int>(shards_.size()); }
  std::int64_t committed_events() const { return committed_events_; }

  // Name of an op of the plan of a run; "" when the head does not say it: large plans have no rows.
  std::string op_name(RunId run, OpId op);
  // How many ops of the lane come up to this one, of how many in a repeat; {0, 0} when it is not known.
  LiveShard::Place place(RunId run, int rank, int lane, OpId op);

 private:
  LiveShard* head();

  CollectingNote note_;
  std::map<std::string, LiveShard> shards_;  // by path
  std::int64_t committed_events_ = 0;
  std::map<std::pair<RunId, OpId>, std::string> names_;  // that were asked for
};

}  // namespace spscope
