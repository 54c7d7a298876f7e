#include "backend/attach/host_counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/base/result.h"
#include "backend/collect/shard_writer.h"
#include "collectors/collector.h"

namespace spscope {
namespace {

constexpr std::string_view kName = "nvml";
constexpr std::chrono::seconds kPatience{5};  // for a driver, once nothing more is wanted of it

}  // namespace

struct HostCounters::Work {
  Work(const CollectingNote& of, const ClockFit& fit, std::shared_ptr<const CollectWindows> wanted,
       const AttachSetup& setup)
      : collection(of),
        clock(fit),
        windows(std::move(wanted)),
        tool_version(setup.tool_version),
        on_note(setup.on_note) {}

  const CollectingNote collection;
  const ClockFit clock;
  const std::shared_ptr<const CollectWindows> windows;
  const std::string tool_version;
  // Of the thread until it is done.
  std::unique_ptr<ShardWriter> shard;
  std::unique_ptr<Collector> collector;
  CollectorRecord record = {.first_rank = kNoRank, .process = {}, .name = std::string(kName), .cost = {}, .notes = {}};
  std::optional<IncidentRecord> loss;
  std::int64_t lost = 0;
  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  AttachNotes on_note;                      // none: nobody waits for the thread any more
  bool ends = false, has_answered = false;  // the driver, for the last time

  void run();
  void start();
  void stop();
  void store();
  void note(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (on_note) on_note("", text);
  }
};

void HostCounters::Work::run() {
  if (const std::optional<Error> failed = failure_of([&] { start(); })) {
    record.outcome = CollectorOutcome::kNotStarted;
    record.notes = fmt::format("{}: {}", kName, line_of(*failed));
    note(fmt::format("{} does not collect here: {}", kName, line_of(*failed)));
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ends; });
  }
  const std::optional<Error> failed = failure_of([&] { stop(); });
  {
    const std::lock_guard lock(mutex);
    if (!on_note) return;  // the shard is being merged, or gone
    has_answered = true;
    changed.notify_all();
  }
  const std::optional<Error> unstored = failure_of([&] { store(); });
  for (const std::optional<Error>& one : {failed, unstored})
    if (one) note(fmt::format("{}: {}", kName, line_of(*one)));
}

void HostCounters::Work::start() {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, -1, collection.collection};
  options.write.tool_version = tool_version;
  options.sleeps = true;
  options.on_failure = [this](const Error& error) {
    note(fmt::format("{}: samples from now on are not stored: {}", kName, line_of(error)));
  };
  shard = std::make_unique<ShardWriter>(fmt::format("{}/{}.host.db", collection.folder, collection.stem), options);
  shard->set_clock(clock);
  collector = std::ranges::find(collectors(), kName, &CollectorRow::name)->start(*shard, {.windows = windows.get()});
}

void HostCounters::Work::stop() {
  if (collector == nullptr) return;
  std::vector<std::string> notes;
  if (const std::optional<Error> failed = failure_of([&] { collector->stop(); })) notes.emplace_back(failed->what());
  for (std::string& text : collector->notes()) notes.push_back(std::move(text));
  for (std::string& text : notes) {
    text = fmt::format("{}: {}", kName, text);
    note(text);
  }
  record.cost = collector->cost();
  record.notes = fmt::format("{}", fmt::join(notes, "\n"));
}

// A slow disk may take as long as it needs.
void HostCounters::Work::store() {
  if (shard == nullptr) return;
  shard->write([&](StoreWriter& store) { store.add_collector(record); });
  shard->finish();
  lost = shard->untold();
  if (lost == 0) return;
  loss.emplace();
  loss->kind = IncidentKind::kLost;
  loss->message = fmt::format("{}: {} samples were not stored, since their shard could not be written", kName, lost);
  note(loss->message);
}

HostCounters::HostCounters(const CollectingNote& collection, const ClockFit& clock,
                           std::shared_ptr<const CollectWindows> windows, const AttachSetup& setup)
    : work_(std::make_shared<Work>(collection, clock, std::move(windows), setup)),
      thread_([work = work_] { work->run(); }) {}

HostCounters::~HostCounters() {
  if (thread_.joinable()) finish();
}

CollectorRecord HostCounters::finish() {
  std::unique_lock lock(work_->mutex);
  work_->ends = true;
  work_->changed.notify_all();
  if (work_->changed.wait_for(lock, kPatience, [&] { return work_->has_answered; })) {
    lock.unlock();
    thread_.join();
    loss_ = work_->loss;
    lost_ = work_->lost;
    return work_->record;
  }
  CollectorRecord record = {.first_rank = kNoRank, .process = {}, .name = std::string(kName), .cost = {}, .notes = {}};
  record.outcome = CollectorOutcome::kCutOff;
  record.notes = fmt::format("{}: the driver did not answer for {} s: counters may be missing from some moment on",
                             kName, kPatience.count());
  work_->on_note("", record.notes);
  work_->on_note = {};
  thread_.detach();
  hangs_ = true;
  return record;
}

}  // namespace spscope
