#include "backend/collect/collection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/base/file_system.h"
#include "backend/base/host.h"
#include "backend/base/own_files.h"
#include "backend/base/random_id.h"
#include "backend/base/regular_file.h"
#include "backend/base/result.h"
#include "backend/base/utf8.h"
#include "backend/base/whole_file.h"
#include "backend/store/live_shard.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "spscope-";
constexpr const char* kRecoveredName = "recovered";
constexpr std::size_t kMaxStem = 100;  // bytes: leaves room in a file name of 255

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// What mark_recovered() left; "" when it left nothing.
std::string read_mark(const std::string& folder) {
  constexpr std::size_t kMaxMark = 1 << 16;
  RegularFile file(fs::path(folder) / kRecoveredName);
  const std::string text = file.is_open() ? file.read(kMaxMark).value_or("") : "";
  return text.substr(0, text.find('\n'));
}

// By folder, without the processes that use them.
std::vector<CollectionFolder> folders_in(const std::string& scratch) {
  std::vector<CollectionFolder> found;
  std::error_code error;
  for (fs::directory_iterator it(scratch, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(kPrefix) || !is_own_folder(it->path())) continue;
    // A folder of anybody else may be a trap; one without a note, or with a damaged one, is one that just begins.
    Result<CollectingNote> note = capture([&] { return read_note_in(it->path()); });
    if (!note) continue;
    CollectionFolder folder{*note, collector_state(*note), recovered_to(*note), bytes_of_files_in(it->path()), {}};
    found.push_back(std::move(folder));
  }
  std::ranges::sort(found, {}, [](const CollectionFolder& folder) { return folder.note.folder; });
  return found;
}

// By the links of /proc/PID/fd, which only the processes of this user show.
void find_processes(std::vector<CollectionFolder>& folders) {
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const int pid = std::atoi(it->path().filename().c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    std::set<std::string> opened;  // folders of files that the process has open
    std::error_code gone;
    for (fs::directory_iterator fd(it->path() / "fd", gone), last; !gone && fd != last; fd.increment(gone)) {
      std::error_code closed;
      opened.insert(fs::read_symlink(fd->path(), closed).parent_path());
    }
    for (CollectionFolder& folder : folders)
      if (opened.contains(folder.note.folder)) folder.processes.push_back(pid);
  }
}

// Not a note that somebody else put there meanwhile.
void remove_note_beside(const CollectingNote& note) {
  const std::string path = collecting_path(note.out);
  const auto named = capture([&] { return read_collecting(path); });
  std::error_code ignored;
  if (named && named->collection == note.collection) fs::remove(path, ignored);
}

}  // namespace

bool holds_events(const CollectingNote& note) {
  const auto found = capture([&] {
    return std::ranges::any_of(note.shards(), [](const std::string& shard) { return shard_has_events(shard); });
  });
  return !found || *found;
}

std::vector<CollectionFolder> collections_in(const std::string& scratch) {
  std::vector<CollectionFolder> found = folders_in(scratch);
  find_processes(found);
  return found;
}

std::vector<CollectingNote> dead_collections(const std::string& scratch) {
  std::vector<CollectingNote> dead;
  for (CollectionFolder& folder : folders_in(scratch))
    if (folder.state == CollectorState::kEnded && folder.recovered_to.empty()) dead.push_back(std::move(folder.note));
  return dead;
}

std::string recovered_to(const CollectingNote& note) {
  const std::string out = read_mark(note.folder);
  return !out.empty() && is_there(out) ? out : std::string();
}

void mark_recovered(const CollectingNote& note, const std::string& out) {
  const std::string file = fs::absolute(out).string();
  if (read_mark(note.folder) == file) return;
  // Without the mark the folder is only listed as not recovered.
  static_cast<void>(failure_of([&] { write_whole_file(note.folder + "/" + kRecoveredName, file + "\n"); }));
}

Collection::Collection(const std::string& out, const std::string& scratch, int ranks, std::int64_t needed_bytes) {
  require_local_folder(scratch, needed_bytes);
  // Names that the note can hold as text, whatever bytes the user's file name has.
  note_.stem = first_characters(clean_text(fs::path(out).stem().string()).text, kMaxStem);
  if (note_.stem.empty()) note_.stem = "run";
  note_.collection = collection_text(random_id());
  note_.out = fs::absolute(out).string();
  note_.started_utc = utc_now();
  note_.ranks = ranks;
  if (auto replaced = capture([&] { return read_collecting(collecting_path(note_.out)); })) replaced_ = *replaced;
  make_folder(scratch);
  write_notes();
}

Collection::Collection(const CollectingNote& home, const std::string& scratch, std::int64_t needed_bytes)
    : note_(home) {
  require_local_folder(scratch, needed_bytes);
  note_.home_host = home.host;
  note_.elsewhere.clear();
  make_folder(scratch);
  write_notes();
}

// A new folder of this process.
void Collection::make_folder(const std::string& scratch) {
  const std::optional<std::string> made =
      make_own_folder(fs::absolute(fs::path(scratch) / (kPrefix + note_.stem + "-")).string());
  if (!made)
    throw Error(ErrorCode::kOutputPlace,
                fmt::format("cannot make a folder in the scratch folder \"{}\": {}", scratch, std::strerror(errno)),
                "set run.scratch (attach: --scratch) to a folder that can be written");
  note_.folder = *made;
  note_.host = host_name();
  note_.boot_id = boot_id();
  note_.pid = ::getpid();
  note_.start_ticks = process_start_ticks(note_.pid);
}

void Collection::write_notes() {
  const std::optional<Error> failure = failure_of([&] { rewrite_collecting(note_); });
  if (!failure) return;
  remove_own_folder(note_.folder);  // the destructor of what was not constructed does not run
  throw *failure;
}

Collection::~Collection() {
  if (kept_) return;
  if (!note_.is_part()) remove_note_beside(note_);
  // Where nothing came of this one, OUT still leads to what the other left.
  if (replaced_ && !is_there(note_.out) && is_there(replaced_->folder) && !is_there(collecting_path(note_.out)))
    static_cast<void>(failure_of([&] { rewrite_collecting(*replaced_); }));
  remove_own_folder(note_.folder);
}

}  // namespace spscope
