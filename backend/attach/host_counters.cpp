#include "backend/attach/host_counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backend/base/result.h"

namespace spscope {
namespace {

constexpr std::string_view kName = "nvml";

}  // namespace

HostCounters::HostCounters(const CollectingNote& collection, const ClockFit& clock, const CollectWindows* windows,
                           const AttachSetup& setup)
    : on_note_(setup.on_note), starting_([this, &collection, clock, windows, &setup] {
        const std::optional<Error> failed = failure_of([&] { start(collection, clock, windows, setup.tool_version); });
        if (!failed) return;
        why_not_ = fmt::format("{}; {}", failed->what(), failed->hint());
        on_note_("", fmt::format("{} does not collect here: {}", kName, why_not_));
      }) {}

HostCounters::~HostCounters() {
  if (starting_.joinable()) starting_.join();
}

void HostCounters::start(const CollectingNote& collection, const ClockFit& clock, const CollectWindows* windows,
                         const std::string& tool_version) {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, -1, collection.collection};
  options.write.tool_version = tool_version;
  options.on_failure = [this](const Error& error) {
    on_note_("", fmt::format("{}: {}: samples from now on are not stored; {}", kName, error.what(), error.hint()));
  };
  shard_ = std::make_unique<ShardWriter>(fmt::format("{}/{}.host.db", collection.folder, collection.stem), options);
  shard_->set_clock(clock);
  collector_ = std::ranges::find(collectors(), kName, &CollectorRow::name)->start(*shard_, {.windows = windows});
}

CollectorRecord HostCounters::finish() {
  starting_.join();
  CollectorRecord record = {.first_rank = kNoRank, .name = std::string(kName)};
  std::vector<std::string> notes;
  if (collector_ == nullptr) {
    record.outcome = CollectorOutcome::kNotStarted;
    notes.push_back(fmt::format("{}: {}", kName, why_not_));
  } else {
    if (const std::optional<Error> failed = failure_of([&] { collector_->stop(); })) notes.emplace_back(failed->what());
    for (std::string& note : collector_->notes()) notes.push_back(std::move(note));
    for (std::string& note : notes) {
      note = fmt::format("{}: {}", kName, note);
      on_note_("", note);
    }
    record.cost = collector_->cost();
  }
  record.notes = fmt::format("{}", fmt::join(notes, "\n"));
  if (shard_ == nullptr) return record;
  shard_->write([&](StoreWriter& store) { store.add_collector(record); });
  shard_->finish();
  lost_ = shard_->untold();
  if (lost_ == 0) return record;
  loss_ = IncidentRecord();
  loss_->kind = IncidentKind::kLost;
  loss_->message = fmt::format("{}: {} samples were not stored, since their shard could not be written", kName, lost_);
  on_note_("", loss_->message);
  return record;
}

}  // namespace spscope
