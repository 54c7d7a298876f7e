// What a program leaves in the memory that it shares with attach. Whatever it is, what is brought over must be what a
// shard takes. An input is the ends of two rings and their drops, the records at the beginning of the memory, and the
// log.
#include <algorithm>
#include <cstring>

#include "backend/base/check.h"
#include "backend/record/shared_trace_reader.h"
#include "backend/record/shared_trace_sink.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/kept_trace.h"
#include "tests/support/shared_trace_memory.h"

namespace spscope::fuzz {
namespace {

constexpr std::size_t kRecords = 8, kFirstOfSecond = 256;  // of each of two rings, the second behind the least of one
struct Head {
  std::uint64_t pushed[2], dropped[2];
  RingRecord records[2][kRecords];
};

std::string input_of(SharedTrace& memory) {
  Head head = {};
  for (std::size_t ring = 0; ring < 2; ++ring) {
    head.pushed[ring] = memory.tracks[ring].ring.pushed;
    head.dropped[ring] = memory.tracks[ring].ring.dropped;
    std::copy_n(memory.records.begin() + static_cast<std::ptrdiff_t>(ring * kFirstOfSecond), kRecords,
                head.records[ring]);
  }
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) +
         std::string(reinterpret_cast<const char*>(memory.log.data()), memory.log_end);
}

void check(KeptTrace& kept) {
  for (const KeptTrace::KeptTrack& track : kept.tracks()) {
    SPSCOPE_CHECK(track.track.kind != TrackKind::kRankLane && track.dropped >= 0 && track.unreadable >= 0);
    for (const RingRecord& record : track.records) {
      SPSCOPE_CHECK((record.kind == RingKind::kCounter) == (track.track.kind == TrackKind::kCounter));
      if (record.kind == RingKind::kCounter) continue;
      SPSCOPE_CHECK(record.span.begin_ns >= 0 && record.span.end_ns >= record.span.begin_ns && record.span.op_id == -1);
      SPSCOPE_CHECK(static_cast<int>(event_category(record.span.flags)) < kNumEventCategories);
      SPSCOPE_CHECK(record.span.name == 0 || record.span.name - KeptTrace::kFirstName < kept.names().size());
      if (record.kind == RingKind::kWork)
        SPSCOPE_CHECK(record.communicator == 0 ||
                      record.communicator - KeptTrace::kFirstDetail < kept.details().size());
    }
  }
}

}  // namespace

std::vector<std::string> seeds() {
  SharedTraceMemory memory;
  SharedTraceSink program(*memory);
  EventRing& stream = program.ring({.kind = TrackKind::kDeviceStream, .name = "stream 7", .device = "GPU 0"}, 256);
  EventRing& power = program.ring({.kind = TrackKind::kCounter, .name = "power"}, 256);
  WorkEvent event;
  event.span = {100, 200, -1, program.name("gemm"), event_flags(EventCategory::kKernel)};
  event.detail = program.detail({.grid = {4, 1, 1}});
  for (int i = 0; i < 3; ++i) stream.push(RingRecord::of(event));
  power.push(RingRecord::of(CounterSample{.time_ns = 5, .value = 300}));
  program.set_clock({.raw_zero_ns = 1});
  program.claim_rank({.source = RankSource::kNccl, .rank = 1, .num_ranks = 2, .communicator = 7});
  program.note("a note");
  program.missed({.kind = TrackKind::kCounter, .name = "power"}, 3, 1);
  return {input_of(*memory)};
}

void read(std::string_view input) {
  Head head;
  if (input.size() < sizeof head) return;
  std::memcpy(&head, input.data(), sizeof head);
  const std::string_view log = input.substr(sizeof head).substr(0, 1 << 16);
  SharedTraceMemory memory;
  std::copy(log.begin(), log.end(), memory->log.begin());
  memory->log_end = log.size();
  for (std::size_t ring = 0; ring < 2; ++ring) {
    memory->tracks[ring].ring.pushed = head.pushed[ring];
    memory->tracks[ring].ring.dropped = head.dropped[ring];
    std::copy_n(head.records[ring], kRecords,
                memory->records.begin() + static_cast<std::ptrdiff_t>(ring * kFirstOfSecond));
  }
  KeptTrace kept(1024);
  SharedTraceReader reader(*memory, {}, kept, [](const std::string&) {});
  for (int i = 0; i < 100'000 && (reader.drain() || !reader.is_empty()); ++i) kept.take();
  SPSCOPE_CHECK(reader.is_empty());
  check(kept);
}

}  // namespace spscope::fuzz
