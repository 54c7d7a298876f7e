#include "backend/attach/attachment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backend/attach/attach_socket.h"
#include "backend/base/clock.h"
#include "backend/base/errno_remedy.h"
#include "backend/base/host.h"
#include "backend/base/process.h"
#include "backend/base/result.h"

namespace spscope {
namespace {

std::function<void(std::span<const CommittedTrack>)> acknowledge_to(const std::string& path, pid_t pid) {
  const auto out = std::make_shared<std::ofstream>(path, std::ios::app);
  if (!out->is_open())
    throw Error(ErrorCode::kOutputPlace,
                fmt::format("commits cannot be told to \"{}\": {}", path, std::strerror(errno)),
                "give --acknowledge a named pipe or a file");
  return [out, pid](std::span<const CommittedTrack> tracks) {
    std::string lines;
    for (const CommittedTrack& t : tracks) lines += fmt::format("{} {} {}\n", pid, t.events, t.track->name);
    *out << lines << std::flush;
  };
}

ShardWriterOptions options_of(const AttachedProcess& process, const CollectingNote& note, const AttachSetup& setup) {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, process.rank().value_or(-1), note.collection};
  options.write.tool_version = setup.tool_version;
  if (!setup.acknowledge.empty()) options.on_commit = acknowledge_to(setup.acknowledge, process.pid());
  options.on_failure = [on_note = setup.on_note, name = process.name()](const Error& error) {
    on_note(name, fmt::format("{}: events from now on are not stored; {}", error.what(), error.hint()));
  };
  return options;
}

// Its parent, and so on up to this process.
std::vector<int> ancestors_of(pid_t pid) {
  constexpr std::size_t kMost = 64;
  std::vector<int> ancestors;
  while (ancestors.size() < kMost) {
    const std::optional<ProcessFacts> facts = read_process(pid);
    if (!facts || facts->parent <= 1 || facts->parent == ::getpid()) break;
    ancestors.push_back(pid = facts->parent);
  }
  return ancestors;
}

}  // namespace

std::string shard_path(const CollectingNote& note, std::optional<int> rank, int number) {
  const std::string numbered = fmt::format("{}/{}.process-{}.db", note.folder, note.stem, number);
  if (!rank) return numbered;
  const std::string of_rank = note.rank_db(*rank);
  std::error_code ignored;
  return std::filesystem::exists(of_rank, ignored) ? numbered : of_rank;
}

Attachment::Attachment(std::unique_ptr<AttachedProcess> process, const std::string& path,
                       const CollectingNote& collection, const ClockFit& clock, const AttachSetup& setup)
    : process_(std::move(process)),
      on_note_(setup.on_note),
      about_{.process = {.name = process_->name(),
                         .pid = process_->pid(),
                         .ancestors = ancestors_of(process_->pid()),
                         .begin_ns = now_ns()},
             .host = collection.host,
             .boot_id = boot_id()},
      shard_(path, options_of(*process_, collection, setup)),
      reader_(process_->memory(), {process_->rank(), process_->name()}, shard_,
              [this](const std::string& text) { note(text); }) {
  shard_.set_clock(clock);
  store_process();
  if (!process_->give_memory())
    throw Error(ErrorCode::kCannotCollect, "it did not wait for the answer",
                "it has ended, or goes on by itself after 5 s without one");
}

Attachment::~Attachment() { join(); }

void Attachment::store_process() {
  about_.process.claims = reader_.claims();
  shard_.write([&](StoreWriter& store) { write_shard_process(store.database(), about_); });
}

void Attachment::store_loss(const std::string& what) {
  IncidentRecord incident;
  incident.rank = process_->rank().value_or(-1);
  incident.kind = IncidentKind::kLost;
  incident.message = fmt::format("{}: {}", process_->name(), what);
  note(what);
  shard_.write([&](StoreWriter& store) { store.add_incident(incident); });
}

bool Attachment::drain() {
  const bool any = reader_.drain();
  if (reader_.claims().size() != about_.process.claims.size()) store_process();
  return any;
}

void Attachment::note_end() {
  if (!about_.process.end_ns && has_ended(connection())) about_.process.end_ns = now_ns();
}

void Attachment::begin_to_finish(bool lives_on) {
  note_end();
  const auto work = [this, lives_on] {
    if (const std::optional<Error> failed = failure_of([&] { finish(lives_on); }))
      note(fmt::format("{}; {}", failed->what(), failed->hint()));
    is_finished_ = true;
  };
  if (failure_of([&] { finishing_ = std::thread(work); })) work();  // no more threads
}

void Attachment::join() {
  if (finishing_.joinable()) finishing_.join();
}

void Attachment::finish(bool lives_on) {
  if (const int fault = lives_on ? 0 : process_->why_not_taken(); fault != 0) {
    has_collected_ = false;
    note(fmt::format("not collected: it could not map the memory of {} MiB that it shares with attach: {}; {}",
                     sizeof(SharedTrace) >> 20, std::strerror(fault),
                     remedy_of(fault, "look for a limit of its memory or files")));
  }
  // What was published until now; its rings empty themselves, so that this takes as long as the disk needs for it.
  constexpr std::int64_t kMostNs = 60'000'000'000;
  reader_.seal();
  const std::int64_t begin_ns = now_ns();
  while ((drain() || !reader_.is_empty()) && now_ns() - begin_ns < kMostNs)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!reader_.is_empty())
    store_loss(
        fmt::format("it left more than could be stored in a minute: the {} events that remained were dropped; give "
                    "--scratch a folder on a faster disk",
                    reader_.drop_rest()));
  if (!lives_on && !reader_.have_collectors_ended())
    store_loss(
        "it ended without handing over what its collectors, and CUPTI, still held: its last events are missing, and "
        "nobody knows how many. It was killed, ended by _exit(), as forked workers of Python do, or closed the "
        "descriptor that leads to attach, as daemons do");
  store_process();
  collectors_ = reader_.collectors(lives_on);
  shard_.write([&](StoreWriter& store) {
    for (const CollectorRecord& collector : collectors_) store.add_collector(collector);
  });
  shard_.finish();
  if (const std::string left_out = reader_.notes_left_out(); !left_out.empty()) note(left_out);
  lost_ = shard_.untold();
  if (lost_ == 0) return;
  loss_ = IncidentRecord();
  loss_->kind = IncidentKind::kLost;
  const std::string what = fmt::format("{} events were not stored, since its shard could not be written", lost_);
  loss_->message = fmt::format("{}: {}", process_->name(), what);
  note(what);
}

}  // namespace spscope
