#include "tests/fuzz/read_store.h"

#include <array>

#include "backend/base/bytes.h"
#include "backend/base/error.h"

namespace spscope::fuzz {
namespace {

template <typename Function>
void attempt(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
  }
}

void read_workloads(const StoreReader& reader) {
  for (const WorkloadRecord& workload : reader.workloads())
    for (const MaskPlace& place : reader.mask_places(workload.workload_id)) {
      attempt([&] { reader.mask_record(place.mask_id); });
      attempt([&] { reader.mask_bits(place.mask_id); });
      attempt([&] { reader.thumbnails(place.mask_id); });
    }
}

void read_run(const StoreReader& reader, const RunRecord& run) {
  attempt([&] { reader.usage(run.run_id); });
  attempt([&] { reader.traffic(run.run_id); });
  attempt([&] {
    if (run.plan_id) plan_hash(reader.plan(*run.plan_id));
  });
  attempt([&] {
    for (const RepeatRecord& repeat : reader.repeats(run.run_id))
      attempt([&] { reader.timeline(run.run_id, repeat.repeat); });
  });
}

void read_strategies(const StoreReader& reader) {
  for (const StrategyRecord& strategy : reader.strategies())
    attempt([&] {
      for (const RunRecord& run : reader.runs(strategy.strategy_id)) read_run(reader, run);
    });
}

void read_events(const StoreReader& reader) {
  for (const Track& track : reader.events().tracks())
    attempt([&] {
      for (const SpanEvent& event : reader.events().spans(track.track_id)) reader.events().name(event.name);
    });
}

}  // namespace

void read_store(const std::string& path, std::uint32_t choice) {
  constexpr std::array kViews = {"event",        "rank_load",      "strategy_summary", "rank_repeat",
                                 "link_traffic", "tensor_traffic", "missing_event",    "rank_wait"};
  const StoreReader reader(path);
  switch (choice % 4) {
    case 0:
      attempt([&] { reader.machine(); });
      attempt([&] { read_workloads(reader); });
      return;
    case 1:
      return attempt([&] { read_strategies(reader); });
    case 2:
      attempt([&] { read_events(reader); });
      attempt([&] { reader.events().ledger(); });
      return;
    default:
      const QueryLimits limits = {.max_rows = 1'000, .max_ms = 1'000, .max_bytes = 1 << 20};
      return attempt([&] { reader.query(std::string("SELECT * FROM ") + kViews[choice / 4 % kViews.size()], limits); });
  }
}

std::uint32_t choice_of(std::string_view input) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(input.data()), input.size()});
}

}  // namespace spscope::fuzz
