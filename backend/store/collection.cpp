#include "backend/store/collection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/base/host.h"
#include "backend/base/result.h"
#include "backend/base/whole_file.h"
#include "backend/store/file_system.h"
#include "backend/store/sqlite.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "spscope-";
constexpr const char* kNoteName = "collecting.json";
constexpr const char* kNoteSuffix = ".collecting";
constexpr const char* kRecoveredName = "recovered";
constexpr std::size_t kMaxStem = 100;      // bytes: leaves room in a file name of 255
constexpr std::size_t kMaxNote = 8 << 20;  // paths of at most 4 KiB each, of a thousand hosts
constexpr int kNoteVersion = 1;

CollectionId random_id() {
  CollectionId id;
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()))
    throw Error(ErrorCode::kInternal, fmt::format("no random bytes: {}", std::strerror(errno)));
  return id;
}

[[noreturn]] void not_a_note(const std::string& path, const char* why) {
  throw Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" is no note of a running collection: {}", path, why),
              "give what the run was given with -o, or the folder of its shards");
}

bool is_id(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A value of the note; a missing one, or one of another type, is refused by the caller.
template <typename T>
bool take(const nlohmann::json& note, const char* key, T& value) {
  const auto found = note.find(key);
  if (found == note.end()) return false;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
    value = found->get<std::string>();
  } else {
    if (!found->is_number_integer() ||
        (found->is_number_unsigned() ? found->get<std::uint64_t>() >> 63 != 0 : found->get<std::int64_t>() < 0))
      return false;
    const auto number = found->get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return false;
    value = static_cast<T>(number);
  }
  return true;
}

// Keys that not every note has. False: a value makes no sense.
bool take_places(const nlohmann::json& note, CollectingNote& n) {
  if (note.contains("home_host") && !take(note, "home_host", n.home_host)) return false;
  const auto found = note.find("elsewhere");
  if (found == note.end()) return true;
  if (!found->is_array()) return false;
  for (const nlohmann::json& row : *found) {
    CollectingElsewhere place;
    if (!row.is_object() || !take(row, "host", place.host) || !take(row, "folder", place.folder)) return false;
    const auto ranks = row.find("ranks");
    if (ranks == row.end() || !ranks->is_array()) return false;
    for (const nlohmann::json& rank : *ranks) {
      if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= static_cast<std::uint64_t>(n.ranks)) return false;
      place.ranks.push_back(rank.get<int>());
    }
    n.elsewhere.push_back(std::move(place));
  }
  return true;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The note of a folder is that of this folder, wherever it was when the run began: users copy folders.
CollectingNote note_in(const fs::path& folder) {
  CollectingNote note = read_collecting(folder / kNoteName);
  const fs::path here = fs::absolute(folder).lexically_normal();
  note.folder = here.has_filename() ? here : here.parent_path();
  return note;
}

// What mark_recovered() left; "" when it left nothing.
std::string read_mark(const std::string& folder) {
  std::string out;
  std::getline(std::ifstream(fs::path(folder) / kRecoveredName, std::ios::binary), out);
  return out;
}

// The mark, as long as it is true.
std::string recovered_to(const std::string& folder) {
  const std::string out = read_mark(folder);
  return !out.empty() && is_there(out) ? out : std::string();
}

// By folder, without the processes that use them.
std::vector<CollectionFolder> folders_in(const std::string& scratch) {
  std::vector<CollectionFolder> found;
  std::error_code error;
  for (fs::directory_iterator it(scratch, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(kPrefix) || !is_there(it->path() / kNoteName)) continue;
    // One that cannot be read is another user's, or damaged: not ours to name.
    Result<CollectingNote> note = capture([&] { return note_in(it->path()); });
    if (!note) continue;
    CollectionFolder folder{*note, collector_state(*note), recovered_to(note->folder), 0, {}};
    std::error_code gone;
    for (const fs::directory_entry& file : fs::directory_iterator(it->path(), gone))
      if (const std::uintmax_t size = file.file_size(gone); !gone) folder.bytes += static_cast<std::int64_t>(size);
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

}  // namespace

std::string describe(const std::vector<CollectingElsewhere>& places) {
  std::vector<std::string> texts;
  for (const CollectingElsewhere& place : places)
    texts.push_back(fmt::format("those of rank{} {} in \"{}\" on host {}", place.ranks.size() == 1 ? "" : "s",
                                fmt::join(place.ranks, ", "), place.folder, place.host));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string CollectingNote::rank_file(int first_rank, const char* suffix) const {
  return fmt::format("{}/{}.rank-{}{}", folder, stem, first_rank, suffix);
}

std::vector<std::string> CollectingNote::files_ending(const std::string& suffix) const {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (const std::string name = it->path().filename(); name.starts_with(stem + ".") && name.ends_with(suffix))
      files.push_back(it->path());
  std::ranges::sort(files);
  return files;
}

CollectionId CollectingNote::id() const {
  CollectionId id = {};
  for (std::size_t i = 0; i < id.size() && 2 * i + 1 < collection.size(); ++i)
    id[i] = static_cast<std::uint8_t>(std::strtoul(collection.substr(2 * i, 2).c_str(), nullptr, 16));
  return id;
}

std::string collecting_path(const std::string& out) { return out + kNoteSuffix; }

std::string text_of(const CollectingNote& n) {
  nlohmann::ordered_json note = {{"schema_version", kNoteVersion},
                                 {"collection", n.collection},
                                 {"folder", n.folder},
                                 {"stem", n.stem},
                                 {"out", n.out},
                                 {"host", n.host},
                                 {"pid", n.pid},
                                 {"start_ticks", n.start_ticks},
                                 {"boot_id", n.boot_id},
                                 {"started_utc", n.started_utc},
                                 {"ranks", n.ranks},
                                 {"home_host", n.home_host}};
  for (const CollectingElsewhere& place : n.elsewhere)
    note["elsewhere"].push_back({{"host", place.host}, {"folder", place.folder}, {"ranks", place.ranks}});
  return note.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

CollectingNote parse_collecting(const std::string& text, const std::string& path) {
  if (text.size() > kMaxNote) not_a_note(path, "it is too long");
  const nlohmann::json note = nlohmann::json::parse(text, nullptr, false);
  if (!note.is_object()) not_a_note(path, "it is no JSON object");
  CollectingNote n;
  int version = 0;
  const bool complete = take(note, "schema_version", version) && take(note, "collection", n.collection) &&
                        take(note, "folder", n.folder) && take(note, "stem", n.stem) && take(note, "out", n.out) &&
                        take(note, "host", n.host) && take(note, "pid", n.pid) &&
                        take(note, "start_ticks", n.start_ticks) && take(note, "boot_id", n.boot_id) &&
                        take(note, "started_utc", n.started_utc) && take(note, "ranks", n.ranks);
  if (!complete || version != kNoteVersion) not_a_note(path, "a value is missing, or of another version");
  if (!is_id(n.collection) || n.folder.empty() || n.folder.front() != '/' || n.stem.empty() ||
      n.stem.find('/') != std::string::npos || n.ranks < 1 || !take_places(note, n))
    not_a_note(path, "a value is out of range");
  return n;
}

CollectingNote read_collecting(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path))
    throw Error(ErrorCode::kStoreOpen, fmt::format("cannot open \"{}\": {}", path, std::strerror(errno)));
  std::string text;
  std::array<char, 64 * 1024> part;
  while (text.size() <= kMaxNote && (in.read(part.data(), part.size()), in.gcount() > 0))
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  return parse_collecting(text, path);
}

void rewrite_collecting(const CollectingNote& note) {
  write_whole_file(note.folder + "/" + kNoteName, text_of(note));
  if (!note.is_part()) write_whole_file(collecting_path(note.out), text_of(note));
}

bool is_here(const CollectingNote& note) {
  if (note.host != host_name() || note.boot_id != boot_id()) return false;
  const Result<CollectingNote> found = capture([&] { return note_in(note.folder); });
  return found && Result(found)->collection == note.collection && Result(found)->host == note.host;
}

std::optional<CollectingNote> find_collection(const std::string& path) {
  if (path.ends_with(kNoteSuffix) && is_there(path)) return read_collecting(path);
  if (is_there(collecting_path(path))) return read_collecting(collecting_path(path));
  if (is_there(fs::path(path) / kNoteName)) return note_in(path);
  const fs::path folder = fs::absolute(path).parent_path();
  if (is_there(path) && is_there(folder / kNoteName)) return note_in(folder);
  return std::nullopt;
}

CollectorState collector_state(const CollectingNote& note) {
  const bool same_boot = !note.boot_id.empty() && note.boot_id == boot_id();
  if (!same_boot) return note.host == host_name() ? CollectorState::kEnded : CollectorState::kElsewhere;
  // Containers of one machine share its boot but not its processes: the name tells them apart.
  if (note.host != host_name()) return CollectorState::kElsewhere;
  return note.start_ticks != 0 && process_start_ticks(note.pid) == note.start_ticks ? CollectorState::kRuns
                                                                                    : CollectorState::kEnded;
}

bool holds_events(const CollectingNote& note) {
  const auto found = capture([&] {
    return std::ranges::any_of(note.shards(), [](const std::string& shard) {
      Database db = Database::open_shard(shard);
      return Statement(db, "SELECT 1 FROM main.chunk LIMIT 1").step();
    });
  });
  return !found || *Result(found);
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

void mark_recovered(const CollectingNote& note, const std::string& out) {
  const std::string file = fs::absolute(out).string();
  if (read_mark(note.folder) == file) return;
  std::ignore = capture([&] { return write_whole_file(note.folder + "/" + kRecoveredName, file + "\n"), true; });
}

Collection::Collection(const std::string& out, const std::string& scratch, int ranks, std::int64_t needed_bytes) {
  require_local_folder(scratch, needed_bytes);
  note_.stem = fs::path(out).stem().string().substr(0, kMaxStem);
  if (note_.stem.empty()) note_.stem = "run";
  note_.collection = collection_text(random_id());
  note_.out = fs::absolute(out).string();
  note_.started_utc = utc_now();
  note_.ranks = ranks;
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
  std::string pattern = fs::absolute(fs::path(scratch) / (kPrefix + note_.stem + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorCode::kOutputPlace,
                fmt::format("cannot make a folder in the scratch folder \"{}\": {}", scratch, std::strerror(errno)),
                "set run.scratch to a folder that can be written");
  note_.folder = pattern;
  note_.host = host_name();
  note_.boot_id = boot_id();
  note_.pid = ::getpid();
  note_.start_ticks = process_start_ticks(note_.pid);
}

void Collection::write_notes() {
  const Result<bool> written = capture([&] {
    rewrite_collecting(note_);
    return true;
  });
  if (written) return;
  std::error_code ignored;  // the destructor of what was not constructed does not run
  fs::remove_all(note_.folder, ignored);
  throw written.error();
}

Collection::~Collection() {
  if (kept_) return;
  std::error_code ignored;
  if (!note_.is_part()) fs::remove(collecting_path(note_.out), ignored);
  fs::remove_all(note_.folder, ignored);
}

}  // namespace spscope
