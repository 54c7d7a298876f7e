#include "backend/record/collecting_note.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "backend/base/error.h"
#include "backend/base/host.h"
#include "backend/base/json.h"
#include "backend/base/listed.h"
#include "backend/base/own_files.h"
#include "backend/base/regular_file.h"
#include "backend/base/result.h"
#include "backend/base/utf8.h"
#include "backend/base/whole_file.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoteSuffix = ".collecting";
constexpr std::size_t kMaxNote = 8 << 20;  // paths of at most 4 KiB each, of a thousand hosts
constexpr int kNoteVersion = 1;
constexpr const char* kHexDigits = "0123456789abcdef";

[[noreturn]] void not_a_note(const std::string& path, const char* why) {
  throw Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" is no note of a running collection: {}", path, why),
              "give what the run was given with -o, or the folder of its shards");
}

bool is_id(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of(kHexDigits) == std::string::npos;
}

// Values of the note; a missing one, or one of another type, is refused by the caller.
bool take(const Json& note, std::string_view key, std::string& value) {
  const Json* found = note.find(key);
  if (found == nullptr || !found->is_text()) return false;
  value = found->text();
  return true;
}

// A path: text, or of bytes that are no UTF-8 their hexadecimal digits.
Json path_json(const std::string& path) {
  if (clean_text(path).text == path) return path;
  std::string hex;
  for (const char byte : path) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return {{"hex", hex}};
}

bool take_path(const Json& note, std::string_view key, std::string& path) {
  std::string hex;
  const Json* found = note.find(key);
  if (found == nullptr || !found->is_object()) return take(note, key, path);
  if (!take(*found, "hex", hex) || hex.size() % 2 != 0 || hex.find_first_not_of(kHexDigits) != std::string::npos)
    return false;
  path.clear();
  for (std::size_t i = 0; i < hex.size(); i += 2)
    path += static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
  return true;
}

template <std::integral Number>
bool take(const Json& note, std::string_view key, Number& value) {
  constexpr auto kMost =
      static_cast<std::int64_t>(std::min<std::uint64_t>(std::numeric_limits<Number>::max(), INT64_MAX));
  const Json* found = note.find(key);
  const auto number = found == nullptr ? std::nullopt : found->integer(0, kMost);
  if (number) value = static_cast<Number>(*number);
  return number.has_value();
}

// Keys that not every note has. False: a value makes no sense.
bool take_places(const Json& note, CollectingNote& n) {
  if (note.contains("home_host") && !take(note, "home_host", n.home_host)) return false;
  const Json* found = note.find("elsewhere");
  if (found == nullptr) return true;
  if (!found->is_array()) return false;
  for (const Json& row : *found) {
    CollectingElsewhere place;
    const Json* ranks = row.find("ranks");
    if (!take(row, "host", place.host) || !take_path(row, "folder", place.folder) || ranks == nullptr ||
        !ranks->is_array())
      return false;
    for (const Json& rank : *ranks) {
      const auto number = rank.integer(0, n.ranks - 1);
      if (!number) return false;
      place.ranks.push_back(static_cast<int>(*number));
    }
    n.elsewhere.push_back(std::move(place));
  }
  return true;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

std::string describe(const std::vector<CollectingElsewhere>& places) {
  std::vector<std::string> texts;
  for (const CollectingElsewhere& place : places)
    texts.push_back(fmt::format("those of rank{} {} in \"{}\" on host {}", place.ranks.size() == 1 ? "" : "s",
                                listed(place.ranks), place.folder, place.host));
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
  Json note = {{"schema_version", kNoteVersion},
               {"collection", n.collection},
               {"folder", path_json(n.folder)},
               {"stem", n.stem},
               {"out", path_json(n.out)},
               {"host", n.host},
               {"pid", n.pid},
               {"start_ticks", n.start_ticks},
               {"boot_id", n.boot_id},
               {"started_utc", n.started_utc},
               {"ranks", n.ranks},
               {"home_host", n.home_host}};
  for (const CollectingElsewhere& place : n.elsewhere)
    note["elsewhere"].push_back({{"host", place.host}, {"folder", path_json(place.folder)}, {"ranks", place.ranks}});
  return note.dump(2) + "\n";
}

CollectingNote parse_collecting(const std::string& text, const std::string& path) {
  if (text.size() > kMaxNote) not_a_note(path, "it is too long");
  const std::optional<Json> parsed = Json::parse(text);
  if (!parsed || !parsed->is_object()) not_a_note(path, "it is not a JSON object");
  const Json& note = *parsed;
  CollectingNote n;
  int version = 0;
  const bool complete = take(note, "schema_version", version) && take(note, "collection", n.collection) &&
                        take_path(note, "folder", n.folder) && take(note, "stem", n.stem) &&
                        take_path(note, "out", n.out) && take(note, "host", n.host) && take(note, "pid", n.pid) &&
                        take(note, "start_ticks", n.start_ticks) && take(note, "boot_id", n.boot_id) &&
                        take(note, "started_utc", n.started_utc) && take(note, "ranks", n.ranks);
  if (!complete || version != kNoteVersion) not_a_note(path, "a value is missing, or of another version");
  if (!is_id(n.collection) || n.folder.empty() || n.folder.front() != '/' || n.stem.empty() ||
      n.stem.find('/') != std::string::npos || n.ranks < 1 || !take_places(note, n))
    not_a_note(path, "a value is out of range");
  return n;
}

CollectingNote read_collecting(const std::string& path) {
  RegularFile file(path);
  const std::optional<std::string> text = file.is_open() ? file.read(kMaxNote) : std::nullopt;
  if (!text) throw Error(ErrorCode::kStoreOpen, fmt::format("cannot read \"{}\": {}", path, file.reason()));
  return parse_collecting(*text, path);
}

CollectingNote read_note_in(const std::string& folder) {
  CollectingNote note = read_collecting(fs::path(folder) / kCollectingNoteName);
  const fs::path here = fs::absolute(folder).lexically_normal();
  note.folder = here.has_filename() ? here : here.parent_path();
  return note;
}

void rewrite_collecting(const CollectingNote& note) {
  write_whole_file(note.folder + "/" + kCollectingNoteName, text_of(note));
  if (!note.is_part()) write_whole_file(collecting_path(note.out), text_of(note));
}

bool is_here(const CollectingNote& note) {
  if (note.host != host_name() || note.boot_id != boot_id()) return false;
  Result<CollectingNote> found = capture([&] { return read_note_in(note.folder); });
  return found && found->collection == note.collection && found->host == note.host;
}

namespace {

// OUT.collecting, which the user did not name. In a folder that others may write to, anybody can put one there: it
// counts when it is of this user, or leads to a folder of this user and says what the note there says. (Some network
// file systems give all files to one user.)
std::optional<CollectingNote> read_note_beside(const std::string& out) {
  const std::string path = collecting_path(out);
  const RegularFile file(path);
  if (file.is_open() && file.is_ours()) return read_collecting(path);
  const auto found = capture([&] { return read_collecting(path); });
  if (!found || !is_own_folder(found->folder)) return std::nullopt;
  auto own = capture([&] { return read_note_in(found->folder); });
  if (!own || own->collection != found->collection) return std::nullopt;
  return std::move(*own);
}

// Of what the user named, in /tmp say: a note that somebody else put into the same folder is not about it.
bool have_one_owner(const fs::path& path, const fs::path& note) {
  struct stat named = {}, other = {};
  return ::stat(path.c_str(), &named) == 0 && (S_ISREG(named.st_mode) || S_ISDIR(named.st_mode)) &&
         ::stat(note.c_str(), &other) == 0 && named.st_uid == other.st_uid;
}

}  // namespace

std::optional<CollectingNote> find_collection(const std::string& path) {
  if (path.ends_with(kNoteSuffix) && is_there(path)) return read_collecting(path);
  if (is_there(collecting_path(path)))
    if (std::optional<CollectingNote> note = read_note_beside(path)) return note;
  if (have_one_owner(path, fs::path(path) / kCollectingNoteName)) return read_note_in(path);
  const fs::path folder = fs::absolute(path).parent_path();
  if (have_one_owner(path, folder / kCollectingNoteName)) return read_note_in(folder);
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

}  // namespace spscope
