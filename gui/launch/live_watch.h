// LiveWatch: what a run in progress is doing, looked at twice a second on a thread of the workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend/collect/run_watch.h"
#include "gui/session/query_slot.h"

namespace spscope::gui {

class LiveWatch {
 public:
  // Once a frame while the run that writes `out` goes on.
  void follow(Workers& workers, const std::string& out);
  // As of the last look; nullptr before the run has said anything.
  const WatchedRun* seen();
  // Why it cannot be looked at; nullptr when it can.
  const Error* error() { return slot_.error(); }

 private:
  // Of one run: used by one look after the other.
  struct Eye {
    std::unique_ptr<RunWatch> watch;
  };
  std::string out_;
  std::shared_ptr<Eye> eye_;
  QuerySlot<WatchedRun> slot_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace spscope::gui
