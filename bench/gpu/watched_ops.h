// WatchedOps: tells a collector which op this process launches, as a run does, and keeps when each op was launched and
// when it ran by the events of its stream.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/record/op_recorder.h"
#include "collectors/collector.h"

namespace spscope::gpu_check {

class WatchedOps final : public OpRecorder {
 public:
  static constexpr RunId kRun{1};
  // Of one repeat of an op. Times are of the raw clock of the host.
  struct Pass {
    std::int64_t launched_ns = 0;
    OpTimes times;
  };

  // nullptr: nobody is told. The collector outlives the last repeat.
  WatchedOps(std::size_t num_ops, Collector* collector)
      : collector_(collector), launched_ns_(num_ops), times_(num_ops) {}

  // Timed repeats of the op. Once they are over.
  std::vector<Pass> passes(OpId op) const;

  void begin_repeat(int repeat) noexcept override { timed_ = repeat >= 0; }
  void end_repeat() noexcept override {}
  void fault(const RankFault&) noexcept override {}
  RunId run() const noexcept override { return kRun; }
  NowLine* line(int, int) noexcept override { return nullptr; }
  std::string page_path() const override { return {}; }
  void launching(int rank, int lane, OpId op) noexcept override;
  void launched() noexcept override;
  EventCounts ended(int rank, int lane, OpId op, const OpTimes& times) noexcept override;

 private:
  Collector* const collector_;
  bool timed_ = false;  // changes only while no op is under way
  // By op, by repeat. Ops are launched on one thread and end on another.
  std::vector<std::vector<std::int64_t>> launched_ns_;
  std::vector<std::vector<OpTimes>> times_;
};

}  // namespace spscope::gpu_check
