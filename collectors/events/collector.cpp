// The collector `events`: rows of streams where CUPTI may not run, from the moments that executors on GPUs take of each
// op by two events of CUDA on its stream. An op is one piece of work from its begin to its end, with the gaps between
// its kernels. It asks the device for nothing.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "backend/base/result.h"
#include "collectors/collector.h"
#include "collectors/cuda_driver.h"

namespace spscope {
namespace {

constexpr std::size_t kRingRecords = 16 * 1024;  // a lane's ring holds as many

class EventsCollector final : public Collector {
 public:
  EventsCollector(TraceSink& sink, const CollectedProcess& process) : sink_(sink), process_(process) {}

  void stop() override {}

  CollectorCost cost() const override {
    CollectorCost cost;
    for (const auto& [lane, ring] : rings_) {
      cost.memory_bytes += static_cast<std::int64_t>(ring->capacity() * sizeof(RingRecord));
      cost.records += ring->sent() - ring->dropped();
      cost.dropped += ring->dropped();
    }
    return cost;
  }

  int least_events_of_op() const override { return 1; }

  // On GPUs one thread of the process follows all lanes, so that the rings need no lock and one of them may wait to be
  // made.
  void op_ended(int rank, int lane, const RingRecord& op) noexcept override {
    const bool moves_data = op.kind == RingKind::kCollective;
    WorkEvent work{.span = op.span, .bytes = moves_data ? op.bytes : 0};
    if (moves_data) work.span.begin_ns = op.transfer_begin_ns;
    work.span.flags = event_flags(moves_data ? EventCategory::kCopy : EventCategory::kKernel);
    if (EventRing* const ring = ring_of(rank, lane)) ring->push(RingRecord::of(work, op.run));
  }

 private:
  EventRing* ring_of(int rank, int lane) noexcept {
    if (const auto known = rings_.find({rank, lane}); known != rings_.end()) return known->second;
    EventRing* ring = nullptr;
    const std::optional<Error> failed = failure_of([&] {
      ring = &sink_.ring({.rank = rank,
                          .kind = TrackKind::kDeviceStream,
                          .name = fmt::format("stream of lane {}, by events", lane),
                          .process = process_.process},
                         kRingRecords);
      rings_.emplace(std::pair(rank, lane), ring);
    });
    return failed ? nullptr : ring;
  }

  TraceSink& sink_;
  const CollectedProcess process_;
  std::map<std::pair<int, int>, EventRing*> rings_;  // by rank and lane
};

}  // namespace

std::optional<std::string> events_cannot_collect() { return missing_cuda_driver(); }

std::unique_ptr<Collector> start_events(TraceSink& sink, const CollectedProcess& process) {
  return std::make_unique<EventsCollector>(sink, process);
}

}  // namespace spscope
