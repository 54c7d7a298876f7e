#include "collectors/nccl/trace_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectors/known_numbers.h"

namespace spscope::nccl {
namespace {

constexpr std::size_t kRingRecords = 8192, kThreadRingRecords = 4096;
constexpr std::size_t kMaxThreads = 256;  // with a track of their own
constexpr std::int64_t kErrorEveryNs = 1'000'000'000;

std::string track_name(const CommunicatorFacts& facts) {
  std::string text = fmt::format("NCCL {:#018x}", facts.hash);
  if (facts.rank >= 0) text += fmt::format(" rank {}", facts.rank);
  if (facts.rank >= 0 && facts.num_ranks > 0) text += fmt::format(" of {}", facts.num_ranks);
  if (!facts.name.view().empty()) text += fmt::format(" ({})", facts.name.view());
  return text;
}

// The same on all ranks of the communicator: "AllReduce RING SIMPLE", "Broadcast from 3 TREE LL", "Send".
std::string operation_name(const Operation& operation) {
  std::string text(operation.function.view().empty() ? "unknown" : operation.function.view());
  const std::string_view function = operation.function.view();
  if (operation.root >= 0)
    text += fmt::format(" {} {}", function == "Reduce" || function == "Gather" ? "to" : "from", operation.root);
  for (const std::string_view part : {operation.algorithm.view(), operation.protocol.view()})
    if (!part.empty()) text += fmt::format(" {}", part);
  return text;
}

// On the host's clock: when the device began and ended, as far as it is known.
struct DeviceTimes {
  std::int64_t begin_ns = 0, end_ns = 0;  // 0: not known
};

DeviceTimes device_times(const Operation& operation, GpuClock& clock) {
  DeviceTimes times = {operation.first_start_ns, operation.last_end_ns};
  // What we were told of had happened, and nothing happens before it was called for.
  if (operation.first_start_timer != 0)
    times.begin_ns = std::clamp(clock.host_ns(operation.first_start_timer),
                                std::min(operation.called_ns, times.begin_ns), times.begin_ns);
  if (operation.last_end_timer != 0 && operation.last_end_ns != 0)
    times.end_ns = std::clamp(clock.host_ns(operation.last_end_timer), times.begin_ns,
                              std::max(times.begin_ns, operation.last_end_ns));
  times.end_ns = std::max(times.end_ns, operation.last_proxy_end_ns);
  return times;
}

}  // namespace

TraceOutput::TraceOutput(TraceSink& sink, const CollectedProcess& process)
    : sink_(sink), process_(process), removed_ns_(Communicators::kMax, 0), rows_(Communicators::kMax) {}

NameId TraceOutput::name(const std::string& text) {
  return number_in(names_, text, [&] { return sink_.name(text); });
}

void TraceOutput::push(EventRing& ring, const RingRecord& record) {
  ++(ring.push(record) ? counts_.records : counts_.dropped);
}

TraceOutput::Row& TraceOutput::row_of(const Communicators::State& state) {
  std::unique_ptr<Row>& made = rows_[state.index];
  if (made == nullptr) {
    made = std::make_unique<Row>();
    ++num_rows_;
  }
  Row& row = *made;
  if (row.use == state.use) return row;
  row = {};
  row.use = state.use;
  row.track = {.rank = process_.rank,
               .overlapping = true,
               .kind = TrackKind::kForeign,
               .name = track_name(state.facts),
               .process = process_.process};
  return row;
}

// v3 tells it with the first operation.
void TraceOutput::tell_rank(const Communicators::State& state) {
  if (state.facts.rank < 0 || state.facts.hash == 0) return;
  if (std::exchange(row_of(state).has_told_rank, true)) return;
  sink_.claim_rank({.source = RankSource::kNccl,
                    .rank = state.facts.rank,
                    .num_ranks = std::max(0, state.facts.num_ranks),
                    .communicator = state.facts.hash});
}

EventRing& TraceOutput::thread_ring(int thread) {
  const bool own = threads_.contains(thread) || threads_.size() < kMaxThreads;
  EventRing*& ring = threads_[own ? thread : -1];
  if (ring == nullptr)
    ring = &sink_.ring({.rank = process_.rank,
                        .overlapping = !own,
                        .kind = TrackKind::kHostThread,
                        .name = own ? fmt::format("NCCL calls, thread {}", thread) : "NCCL calls, other threads",
                        .process = process_.process},
                       kThreadRingRecords);
  return *ring;
}

void TraceOutput::put(const Operation& operation, Row& row, bool last, std::int64_t now_ns) {
  if (operation.pair_timer != 0) {
    row.clock.seen(operation.pair_timer, operation.pair_host_ns);
    if (operation.called_ns != 0 && operation.first_start_timer != 0)
      row.clock.not_before(operation.first_start_timer, operation.called_ns);
  }
  const std::int64_t begun_ns = operation.called_ns != 0 ? operation.called_ns : operation.start_ns;
  if (!process_.wants(begun_ns)) return;
  counts_.given_up += operation.given_up;
  counts_.enqueued_only += operation.enqueued_only;
  counts_.without_device += operation.first_start_ns != 0 && operation.first_start_timer == 0;
  const DeviceTimes times = device_times(operation, row.clock);
  RingRecord record;
  record.kind = RingKind::kCollective;
  record.span.name = name(operation_name(operation));
  record.span.flags = event_flags(EventCategory::kTransfer);
  record.span.begin_ns = begun_ns;
  if (times.begin_ns != 0) record.span.begin_ns = std::min(record.span.begin_ns, times.begin_ns);
  const std::int64_t enqueued_ns = std::max(record.span.begin_ns, operation.stop_ns);
  if (operation.given_up && last && times.end_ns == 0) {
    record.span.flags |= kEventUnfinished;
    record.span.end_ns = kNeverEnded;
  } else {
    record.span.end_ns = std::max(times.end_ns != 0 ? times.end_ns : enqueued_ns, record.span.begin_ns);
  }
  // A begin on the device that is known lies behind the call; where it is not known there is no wait.
  record.transfer_begin_ns = record.span.begin_ns;
  if (times.begin_ns != 0 && record.span.begin_ns < record.span.end_ns)
    record.transfer_begin_ns = std::clamp(times.begin_ns, record.span.begin_ns + 1, record.span.end_ns);
  record.sequence = operation.sequence;
  record.bytes = operation.bytes;
  record.peer = operation.point_to_point ? operation.peer : -1;
  if (row.ring == nullptr) row.ring = &sink_.ring(row.track, kRingRecords);
  push(*row.ring, record);
  put_error(row, now_ns);
}

void TraceOutput::put_error(Row& row, std::int64_t now_ns) {
  if (row.error_stored_ns != 0 && now_ns - row.error_stored_ns < kErrorEveryNs) return;
  const std::optional<std::int64_t> error_ns = row.clock.error_ns();
  if (!error_ns) return;
  if (row.error_ring == nullptr)
    row.error_ring = &sink_.ring({.rank = process_.rank,
                                  .kind = TrackKind::kCounter,
                                  .name = row.track.name + " error of device times (us)",
                                  .process = process_.process},
                                 64);
  row.error_stored_ns = now_ns;
  counts_.worst_error_ns = std::max(counts_.worst_error_ns, *error_ns);
  push(*row.error_ring, RingRecord::of(CounterSample{now_ns, static_cast<double>(*error_ns) * 1e-3}));
}

void TraceOutput::put(const EndedCall& call) {
  if (!process_.wants(call.begin_ns)) return;
  const std::string_view function = call.function.view();
  const std::string text = function.empty() ? "ncclGroupEnd" : fmt::format("nccl{}", function);
  push(thread_ring(call.thread), RingRecord::of(WorkEvent{.span = {.begin_ns = call.begin_ns,
                                                                   .end_ns = call.end_ns,
                                                                   .name = name(text),
                                                                   .flags = event_flags(EventCategory::kApi)}}));
}

void TraceOutput::take(Watch& watch, bool last, std::int64_t now_ns) {
  std::vector<Operation> ended =
      last ? watch.operations().take_all() : watch.operations().take_ended(now_ns, removed_ns_);
  std::sort(ended.begin(), ended.end(), [](const Operation& a, const Operation& b) { return a.order < b.order; });
  // Asked for after the operations, so that each has its communicator there, with what v3 tells late.
  std::vector<const Communicators::State*> by_row(rows_.size(), nullptr);
  const std::vector<Communicators::State> states = watch.communicators().take_states();
  for (const Communicators::State& state : states) by_row[state.index] = &state;
  for (const Operation& operation : ended)
    if (const Communicators::State* const state = by_row[operation.communicator]; state != nullptr)
      put(operation, row_of(*state), last, now_ns);
  for (const Communicators::State& state : states) {
    tell_rank(state);
    if (state.missed > 0) {
      counts_.dropped += state.missed;
      sink_.missed(row_of(state).track, state.missed, 0);
    }
    removed_ns_[state.index] = state.removed_ns;
    const bool is_over = state.removed_ns != 0 && now_ns - state.removed_ns > 2 * Operations::kGiveUpNs;
    if (!is_over || watch.operations().uses(state.index)) continue;
    watch.communicators().forget(state.index);
    removed_ns_[state.index] = 0;
  }
  std::vector<EndedCall> calls = watch.calls().take_ended();
  std::sort(calls.begin(), calls.end(), [](const EndedCall& a, const EndedCall& b) { return a.begin_ns < b.begin_ns; });
  for (const EndedCall& call : calls) put(call);
  if (const std::int64_t dropped = watch.calls().dropped(); dropped > calls_dropped_) {
    counts_.dropped += dropped - calls_dropped_;
    sink_.missed({.rank = process_.rank,
                  .kind = TrackKind::kHostThread,
                  .name = "NCCL calls, dropped",
                  .process = process_.process},
                 dropped - calls_dropped_, 0);
    calls_dropped_ = dropped;
  }
}

}  // namespace spscope::nccl
