// The note of a run in progress: whose collection it is, where its folder lies, and what its files are called
// (collect/collection.h says what they hold).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/record/now_page.h"

namespace spscope {

// Of the note inside the folder of a collection; beside OUT it is called OUT.collecting.
inline constexpr const char* kCollectingNoteName = "collecting.json";

// The folder of a collection on another host, with the shards of the ranks there.
struct CollectingElsewhere {
  std::string host, folder;
  std::vector<int> ranks;  // ascending
};
// "those of ranks 2 and 3 in \"/tmp/spscope-run-x\" on host b", joined with "; ".
std::string describe(const std::vector<CollectingElsewhere>& places);

// What OUT.collecting says.
struct CollectingNote {
  std::string collection;         // id, 32 hexadecimal digits: equal in all shards
  std::string folder;             // absolute
  std::string stem;               // that names in the folder begin with
  std::string out;                // absolute path of the file that is to come
  std::string host;               // that the folder is on
  std::string boot_id;            // of the host when the run began
  std::string started_utc;        // "2026-01-31T12:00:00Z"
  int pid = 0;                    // of the process that will merge
  std::uint64_t start_ticks = 0;  // of that process
  int ranks = 1;
  std::string home_host;                       // of a part: where the shards are brought together; else ""
  std::vector<CollectingElsewhere> elsewhere;  // parts on other hosts, until their shards were brought here

  // Whether this is the folder of a host that only some ranks were on: it has no head.
  bool is_part() const { return !home_host.empty(); }
  std::string head_db() const { return folder + "/" + stem + ".head.db"; }
  std::string progress_page() const { return folder + "/" + stem + ".progress"; }
  std::string rank_db(int first_rank) const { return rank_file(first_rank, ".db"); }
  std::string rank_now(int first_rank) const { return rank_file(first_rank, ".now"); }
  CollectionId id() const;
  // The shards, and the now pages, that the folder holds, in order of their names.
  std::vector<std::string> shards() const { return files_ending(".db"); }
  std::vector<std::string> now_pages() const { return files_ending(".now"); }

 private:
  std::string rank_file(int first_rank, const char* suffix) const;
  std::vector<std::string> files_ending(const std::string& suffix) const;
};

std::string collecting_path(const std::string& out);  // OUT.collecting
// A note as text, for a process that cannot read the file; `path` is what errors name. Throws Error as read_collecting.
std::string text_of(const CollectingNote& note);
CollectingNote parse_collecting(const std::string& text, const std::string& path);
// Throws Error: kStoreOpen when the file cannot be read, kStoreForeign when it is not such a file.
CollectingNote read_collecting(const std::string& path);
// The note in a collection's folder, with that folder as it is called now: users copy folders. Throws Error.
CollectingNote read_note_in(const std::string& folder);
// Writes the note again where it lies: in its folder and, unless it is a part, beside OUT. Throws Error.
void rewrite_collecting(const CollectingNote& note);
// Whether the folder of the note is one of this host, and of this collection: this is the process's view of the file
// system, and it must be the boot and the host that made the folder.
bool is_here(const CollectingNote& note);
// The collection that a user means by OUT, OUT.collecting, a collection's folder, or a file in it; nothing when there
// is none. A folder that was copied is the collection's folder. A note that the user did not name, and that somebody
// else put beside the file, is passed over. Throws Error when a note is there and cannot be read.
std::optional<CollectingNote> find_collection(const std::string& path);

enum class CollectorState {
  kRuns,       // its process runs here
  kEnded,      // it ran on this host and is gone
  kElsewhere,  // it runs or ran on another host: nothing is known from here
};
CollectorState collector_state(const CollectingNote& note);

}  // namespace spscope
