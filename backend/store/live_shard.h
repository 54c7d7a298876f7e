// LiveShard: what a shard says of a run while its process still writes it.
//
// Only reads. Every statement is reset at once, since a read that is held makes the log of the shard grow for as long.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend/base/ids.h"
#include "backend/record/events.h"

namespace spscope {

class LiveShard {
 public:
  // Throws Error: there is no such shard, or it has no tables yet.
  explicit LiveShard(const std::string& path);
  ~LiveShard();

  // Number of events that were committed since the call before, at first of all. 0 when the shard is removed or
  // damaged.
  std::int64_t new_events();
  // Name of an op of the plan of a run; "" when the shard does not say it: large plans have no rows.
  std::string op_name(RunId run, OpId op);
  // How many ops of a lane come up to this one, of how many in a repeat; {0, 0} when it is not known.
  struct Place {
    int ops_done = 0, ops = 0;
  };
  Place place(RunId run, int rank, int lane, OpId op);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether a shard holds an event. Throws Error as LiveShard does.
bool shard_has_events(const std::string& path);

}  // namespace spscope
