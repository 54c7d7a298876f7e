#include "tests/fuzz/read_store.h"

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
  for (const Stream& stream : reader.events().streams())
    attempt([&] {
      for (const SpanEvent& event : reader.events().spans(stream.stream_id)) reader.events().name(event.name);
    });
}

}  // namespace

void read_store(const std::string& path, std::string_view view) {
  const StoreReader reader(path);
  attempt([&] { reader.machine(); });
  attempt([&] { read_workloads(reader); });
  attempt([&] { read_strategies(reader); });
  attempt([&] { read_events(reader); });
  attempt([&] { reader.events().ledger(); });
  const QueryLimits limits = {.max_rows = 1'000, .max_ms = 1'000, .max_bytes = 1 << 20};
  attempt([&] { reader.query(std::string("SELECT * FROM ") + std::string(view), limits); });
}

}  // namespace spscope::fuzz
