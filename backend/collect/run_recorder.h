// RunRecorder: makes events of the ops that an executor runs, and gives it the lines of the now page on which it says
// what every lane does.
//
// Names and communicators of a plan are looked up before its repeats, so that a lane only fills in times: an op costs
// it one record in its ring. Events are those that a timeline of the same times would give (timeline_events.h), on the
// raw clock.
#pragma once

#include <vector>

#include "backend/collect/shard_writer.h"
#include "backend/record/now_page.h"
#include "backend/record/op_recorder.h"
#include "collectors/collector.h"

namespace spscope {

class RunRecorder final : public OpRecorder {
 public:
  // Room of the ring of each lane, in records: of a process that is one rank; of one with several ranks, which share
  // as much, with a floor for each lane: 1.3 MB, 160 ms of ops of 10 us.
  static constexpr std::size_t kRecords = 256 * 1024, kLeastRecords = 16 * 1024;
  // Of this process: `ranks` ranks from `first_rank` on, with lines for `lanes` lanes each. Both must outlive this.
  RunRecorder(ShardWriter& shard, NowPageWriter& page, int first_rank, int ranks, int lanes);

  // Those of this process, which are told of the ops of timed repeats. Not while one is going on. They outlive the last
  // repeat.
  void set_collectors(std::vector<Collector*> collectors) { collectors_ = std::move(collectors); }
  // Events that a shard gets of each op of a timed repeat, at the least: the op's own, and those of collectors.
  int least_events_of_op() const;
  // Repeats of this plan follow, as events of `run`. Not while one is going on.
  void prepare(RunId run, const Plan& plan);
  // Whether every event since prepare() is or will be in the shard.
  bool complete() const;
  // What went wrong in repeats so far, the first cause first.
  const std::vector<IncidentRecord>& incidents() const { return incidents_; }
  // After the last repeat and the shard's finish(): what the shard could not take is said on the page too.
  void publish_counts();

  void begin_repeat(int repeat) noexcept override;
  void end_repeat() noexcept override;
  void fault(const RankFault& fault) noexcept override;
  RunId run() const noexcept override { return run_; }
  NowLine* line(int rank, int lane) noexcept override;
  void launching(int rank, int lane, OpId op) noexcept override;
  void launched() noexcept override;
  std::string page_path() const override { return page_.path(); }
  EventCounts ended(int rank, int lane, OpId op, const OpTimes& raw_times) noexcept override;

 private:
  // What every event of an op says besides its times.
  struct OpFacts {
    NameId name = 0;
    std::uint32_t flags = 0;
    std::int64_t bytes = 0;
    PostId sequence = 0;
    CommunicatorId communicator = 0;
    int peer = -1;
    bool moves_data = false;
  };
  struct alignas(64) Lane {
    EventRing* ring = nullptr;  // nullptr: no plan so far uses the lane
    int ops = 0;                // of the plan
  };
  Lane& lane_of(int rank, int lane) {
    return lanes_[static_cast<std::size_t>(rank - first_rank_) * static_cast<std::size_t>(plan_lanes_) +
                  static_cast<std::size_t>(lane)];
  }
  bool is_mine(const Op& op) const { return op.rank >= first_rank_ && op.rank < first_rank_ + ranks_; }
  void open_lanes(const Plan& plan);
  std::int64_t dropped() const;

  ShardWriter& shard_;
  NowPageWriter& page_;
  const int first_rank_, ranks_, page_lanes_;
  int plan_lanes_ = 0;
  std::vector<Lane> lanes_;     // by rank, by lane: room for the plan with the most lanes so far
  std::vector<OpFacts> facts_;  // by op of the plan
  RunId run_ = {};
  int repeat_ = 0;
  std::int64_t repeat_begin_ns_ = 0;
  std::int64_t dropped_before_ = 0;  // by all lanes, before prepare()
  std::vector<IncidentRecord> incidents_;
  std::vector<Collector*> collectors_;
};

}  // namespace spscope
