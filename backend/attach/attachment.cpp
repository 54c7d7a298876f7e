#include "backend/attach/attachment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "backend/attach/attach_socket.h"
#include "backend/base/clock.h"
#include "backend/base/errno_remedy.h"
#include "backend/base/host.h"
#include "backend/base/process.h"
#include "backend/base/result.h"
#include "backend/record/reader_sleep.h"

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
  options.sleeps = true;
  if (!setup.acknowledge.empty()) options.on_commit = acknowledge_to(setup.acknowledge, process.pid());
  options.on_failure = [on_note = setup.on_note, name = process.name()](const Error& error) {
    on_note(name, "events from now on are not stored: " + line_of(error));
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

Attachment::Attachment(std::unique_ptr<AttachedProcess> process, std::string path, const AttachedProgram& program)
    : process_(std::move(process)),
      path_(std::move(path)),
      program_(program),
      about_{.process = {.name = process_->name(),
                         .pid = process_->pid(),
                         .ancestors = ancestors_of(process_->pid()),
                         .begin_ns = now_ns()},
             .host = program.collection.host,
             .boot_id = boot_id()},
      thread_([this] { work(); }) {}

Attachment::~Attachment() {
  if (!thread_.joinable()) return;
  begin_to_finish(true);
  join();
}

void Attachment::join() {
  if (thread_.joinable()) thread_.join();
}

void Attachment::wake() {
  {
    const std::lock_guard lock(mutex_);  // no byte comes before the memory
    if (is_given_) process_->wake();
  }
  process_->memory().reader.wake();
}

void Attachment::note_end() {
  if (end_ns_ == 0 && has_ended(connection())) end_ns_ = now_ns();
}

void Attachment::begin_to_finish(bool lives_on) {
  note_end();
  {
    const std::lock_guard lock(mutex_);
    wish_ = lives_on ? Wish::kFinishWhileItLives : Wish::kFinish;
  }
  process_->memory().reader.wake();
}

void Attachment::work() {
  const std::optional<Error> refused = failure_of([&] {
    make_shard();
    give_memory();
  });
  if (refused) {
    why_refused_ = line_of(*refused);
    // Processes that fail alike share one note, which names no file of one of them.
    if (const std::size_t at = why_refused_.find('"' + path_ + '"'); at != std::string::npos)
      why_refused_.replace(at, path_.size() + 2, "its shard");
    shard_.reset();
    std::error_code ignored;
    if (refused->code() != ErrorCode::kStoreExists) std::filesystem::remove(path_, ignored);
  } else {
    bring_over();
  }
  is_finished_ = true;
  program_.changed.ring();
}

// Whatever fails, what comes after it is done: each event is in the shard, or counted there.
void Attachment::bring_over() {
  bool lives_on = false;
  std::optional<Error> failed = failure_of([&] { lives_on = follow(); });
  if (failed) {
    note_end();
    lives_on = end_ns_ == 0;
  }
  if (const std::optional<Error> again = failure_of([&] { bring_rest(); })) failed = again;
  const std::optional<Error> untold = failure_of([&] { store_end(lives_on, failed); });
  const std::optional<Error> incomplete = failure_of([&] { complete(); });
  for (const std::optional<Error>& one : {untold, incomplete})
    if (one) static_cast<void>(failure_of([&] { note(line_of(*one)); }));
}

void Attachment::make_shard() {
  shard_.emplace(path_, options_of(*process_, program_.collection, program_.setup));
  reader_.emplace(process_->memory(), SharedTraceOwner{process_->rank(), process_->name()}, *shard_,
                  [this](const std::string& text) { note(text); });
  shard_->set_clock(program_.clock);
  store_process();
}

void Attachment::give_memory() {
  const std::lock_guard lock(mutex_);
  if (wish_ == Wish::kFinishWhileItLives)
    throw Error(ErrorCode::kCannotCollect, "the program had ended before it was its turn");
  is_given_ = process_->give_memory();
  if (!is_given_)
    throw Error(ErrorCode::kCannotCollect, "it did not wait for the answer",
                "it has ended, or goes on by itself after 5 s without one");
}

// Until it is asked to finish; says whether the process lives on.
bool Attachment::follow() {
  // Between two looks at rings that were empty. The longest is how late a wake is seen that a broken process undid.
  constexpr std::chrono::milliseconds kShortestNap{5}, kLongestNap{500};
  for (ReaderNaps naps(process_->memory().reader, kShortestNap, kLongestNap);;) {
    naps.begin();
    if (const Wish now = wish(); now != Wish::kFollow) return now == Wish::kFinishWhileItLives;
    if (drain())
      naps.found();
    else
      naps.wait();
  }
}

Attachment::Wish Attachment::wish() {
  const std::lock_guard lock(mutex_);
  return wish_;
}

void Attachment::store_process() {
  about_.process.claims = reader_->claims();
  if (const std::int64_t end_ns = end_ns_; end_ns != 0) about_.process.end_ns = end_ns;
  shard_->write([&](StoreWriter& store) { write_shard_process(store.database(), about_); });
}

void Attachment::store_loss(const std::string& what) {
  IncidentRecord incident;
  incident.rank = process_->rank().value_or(-1);
  incident.kind = IncidentKind::kLost;
  incident.message = fmt::format("{}: {}", process_->name(), what);
  shard_->write([&](StoreWriter& store) { store.add_incident(incident); });
  note(what);
}

// Says whether that was anything.
bool Attachment::drain() {
  const bool any = reader_->drain();
  const bool has_new_window = take_windows();
  if (has_new_window || reader_->claims().size() != about_.process.claims.size()) store_process();
  if (has_new_window) program_.changed.ring();
  return any;
}

// Whether one has begun or ended.
bool Attachment::take_windows() {
  if (windows().when() == CollectWhen::kAlways) return false;
  const std::uint64_t before = windows_taken_;
  windows().take_ended(windows_taken_, windows_ended_);
  if (windows_ended_.size() > 2 * CollectWindows::kMost)
    windows_ended_ = joined(std::move(windows_ended_), CollectWindows::kMost);
  const std::optional<CollectWindow> newest = windows().newest();
  const bool is_open = newest && newest->end_ns == CollectWindow::kOpen && newest->begin_ns >= 0;
  const bool was_open = !about_.windows.empty() && about_.windows.back().end_ns == CollectWindow::kOpen;
  if (windows_taken_ == before && is_open == was_open) return false;
  about_.windows = windows_ended_;
  if (is_open) about_.windows.push_back(*newest);
  about_.windows = joined(std::move(about_.windows), CollectWindows::kMost);
  return true;
}

// What was published until now; its rings empty themselves, so that this takes as long as the disk needs for it.
void Attachment::bring_rest() {
  constexpr std::int64_t kMostNs = 60'000'000'000;
  reader_->seal();
  const std::int64_t begin_ns = now_ns();
  while ((drain() || !reader_->is_empty()) && now_ns() - begin_ns < kMostNs)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// `failed`: why it was not read to its end.
void Attachment::store_end(bool lives_on, const std::optional<Error>& failed) {
  if (const int fault = lives_on ? 0 : process_->why_not_taken(); fault != 0) {
    has_collected_ = false;
    store_loss(fmt::format("not collected: it could not map the memory of {} MiB that it shares with attach: {}; {}",
                           sizeof(SharedTrace) >> 20, std::strerror(fault),
                           remedy_of(fault, "look for a limit of its memory or files")));
  }
  if (failed)
    store_loss(fmt::format("attach stopped following it, and dropped the {} events that it had not read: {}",
                           reader_->drop_rest(), line_of(*failed)));
  else if (!reader_->is_empty())
    store_loss(
        fmt::format("it left more than could be stored in a minute: the {} events that remained were dropped; give "
                    "--scratch a folder on a faster disk",
                    reader_->drop_rest()));
  if (const std::string unnamed = reader_->left_unnamed(); !unnamed.empty()) store_loss(unnamed);
  if (const std::uint64_t refused = windows().refused(); refused > 0)
    store_loss(
        fmt::format("it called cudaProfilerStart() more often than attach could store: attach collected nothing "
                    "after {} of these calls",
                    refused));
  if (!lives_on && !reader_->have_collectors_ended())
    store_loss(
        "it ended without handing over what its collectors, and CUPTI, still held: its last events are missing, and "
        "nobody knows how many. It was killed, ended by _exit(), as forked workers of Python do, or closed the "
        "descriptor that leads to attach, as daemons do");
  if (!about_.windows.empty() && !lives_on) {
    CollectWindow& last = about_.windows.back();
    last.end_ns = std::min(last.end_ns, std::max(last.begin_ns, end_ns_.load()));
  }
  store_process();
  collectors_ = reader_->collectors(lives_on);
  shard_->write([&](StoreWriter& store) {
    for (const CollectorRecord& collector : collectors_) store.add_collector(collector);
  });
  if (const std::string left_out = reader_->notes_left_out(); !left_out.empty()) note(left_out);
}

void Attachment::complete() {
  shard_->finish();
  lost_ = shard_->untold();
  if (lost_ == 0) return;
  loss_ = IncidentRecord();
  loss_->kind = IncidentKind::kLost;
  const std::string what = fmt::format("{} events were not stored, since its shard could not be written", lost_);
  loss_->message = fmt::format("{}: {}", process_->name(), what);
  note(what);
}

}  // namespace spscope
