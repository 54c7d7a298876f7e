#include "backend/attach/host_counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backend/base/result.h"

namespace spscope {
namespace {

constexpr std::string_view kName = "nvml";

}  // namespace

HostCounters::HostCounters(const CollectingNote& collection, const ClockFit& clock, const AttachSetup& setup)
    : on_note_(setup.on_note), starting_([this, &collection, clock, &setup] {
        const std::optional<Error> failed = failure_of([&] { start(collection, clock, setup.tool_version); });
        if (failed) on_note_(fmt::format("{} does not collect here: {}; {}", kName, failed->what(), failed->hint()));
      }) {}

HostCounters::~HostCounters() {
  if (starting_.joinable()) starting_.join();
}

void HostCounters::start(const CollectingNote& collection, const ClockFit& clock, const std::string& tool_version) {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, -1, collection.collection};
  options.write.tool_version = tool_version;
  shard_ = std::make_unique<ShardWriter>(fmt::format("{}/{}.host.db", collection.folder, collection.stem), options);
  shard_->set_clock(clock);
  collector_ = std::ranges::find(collectors(), kName, &CollectorRow::name)->start(*shard_, {});
}

std::optional<CollectorRecord> HostCounters::finish() {
  starting_.join();
  if (collector_ == nullptr) {
    if (shard_ != nullptr) shard_->finish();
    return std::nullopt;
  }
  std::vector<std::string> notes;
  if (const std::optional<Error> failed = failure_of([&] { collector_->stop(); })) notes.emplace_back(failed->what());
  for (std::string& note : collector_->notes()) notes.push_back(std::move(note));
  for (std::string& note : notes) {
    note = fmt::format("{}: {}", kName, note);
    on_note_(note);
  }
  const CollectorRecord record = {
      kNoRank, {}, std::string(kName), collector_->cost(), fmt::format("{}", fmt::join(notes, "\n"))};
  shard_->write([&](StoreWriter& store) { store.add_collector(record); });
  shard_->finish();
  return record;
}

}  // namespace spscope
