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
    : on_note_(setup.on_note),
      started_(
          std::async(std::launch::async, [this, &collection, clock, &setup] { start(collection, clock, setup); })) {}

void HostCounters::start(const CollectingNote& collection, const ClockFit& clock, const AttachSetup& setup) {
  const auto row = std::ranges::find(collectors(), kName, &CollectorRow::name);
  std::optional<std::string> why = row->cannot_collect();
  if (!why) {
    const std::optional<Error> failed = failure_of([&] {
      ShardWriterOptions options;
      options.shard = {ShardKind::kRank, ShardClock::kRaw, -1, collection.collection};
      options.write.tool_version = setup.tool_version;
      shard_ = std::make_unique<ShardWriter>(fmt::format("{}/{}.host.db", collection.folder, collection.stem), options);
      shard_->set_clock(clock);
      collector_ = row->start(*shard_, {});
    });
    if (failed) why = failed->what();
  }
  if (why) on_note_(fmt::format("{} does not collect here: {}", kName, *why));
}

std::optional<CollectorRecord> HostCounters::finish() {
  started_.wait();
  if (collector_ == nullptr) return std::nullopt;
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
