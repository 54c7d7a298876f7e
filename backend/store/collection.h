// A collection: a run in progress, as files on a local disk.
//
//   SCRATCH/spscope-STEM-XXXXXX/STEM.head.db     what was asked and what came out so far
//                               STEM.rank-N.db   the events of one process of ranks; N is its first rank
//                               STEM.rank-N.now  what each of its lanes does now (now_page.h)
//                               STEM.progress    where the run is (progress_page.h), where the head is
//                               collecting.json  whose collection this is, as OUT.collecting
//                               recovered        the file that `recover` made of it last
//   OUT.collecting                               where the folder is; beside OUT while the run runs
//
// A run over several hosts has such a folder on each of them, for the shards of the ranks there: only that of rank 0
// has the head, and OUT.collecting leads to it. At the end the shards of the others are brought there.
//
// A run that ends well merges its shards into OUT and removes all of these. What a crash leaves is never removed by
// anybody but the user; `recover` makes a finished file of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/store/now_page.h"

namespace spscope {

// The folder of a collection on another host, with the shards of the ranks there.
struct CollectingElsewhere {
  std::string host, folder;
  std::vector<int> ranks;  // ascending
};
// "those of ranks 2, 3 in \"/tmp/spscope-run-x\" on host b", joined with "; ".
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
// Writes the note again where it lies: in its folder and, unless it is a part, beside OUT. Throws Error.
void rewrite_collecting(const CollectingNote& note);
// Whether the folder of the note is one of this host, and of this collection: this is the process's view of the file
// system, and it must be the boot and the host that made the folder.
bool is_here(const CollectingNote& note);
// The collection that a user means by OUT, OUT.collecting, a collection's folder, or a file in it; nothing when there
// is none. A folder that was copied is the collection's folder. Throws Error when a note is there and cannot be read.
std::optional<CollectingNote> find_collection(const std::string& path);

enum class CollectorState {
  kRuns,       // its process runs here
  kEnded,      // it ran on this host and is gone
  kElsewhere,  // it runs or ran on another host: nothing is known from here
};
CollectorState collector_state(const CollectingNote& note);
// Whether any shard of the folder holds an event. One that cannot be read may.
bool holds_events(const CollectingNote& note);

// A collection that lies in a scratch folder of this host.
struct CollectionFolder {
  CollectingNote note;
  CollectorState state = CollectorState::kEnded;
  std::string recovered_to;    // the file that `recover` made of it, when that is there; else ""
  std::int64_t bytes = 0;      // of its files
  std::vector<int> processes;  // of this user that have a file of it open
};
// By folder. Those of other users are left out.
std::vector<CollectionFolder> collections_in(const std::string& scratch);
// Collections in `scratch` that ended without a merge, on this host, and were not recovered.
std::vector<CollectingNote> dead_collections(const std::string& scratch);
// Leaves word in the folder of what it became; a folder that cannot be written goes without.
void mark_recovered(const CollectingNote& note, const std::string& out);

// Owns the folder and the note of a run of this process.
class Collection {
 public:
  // Makes both. `needed_bytes` must be free in `scratch`. Throws Error: the scratch folder will not do (kOutputPlace,
  // kStoreWrite), or OUT.collecting cannot be written.
  Collection(const std::string& out, const std::string& scratch, int ranks, std::int64_t needed_bytes);
  // A part: the folder alone, for the ranks on this host of a collection whose home is on another. Throws Error.
  Collection(const CollectingNote& home, const std::string& scratch, std::int64_t needed_bytes);
  // Removes what was made, unless it is to be kept.
  ~Collection();
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  const CollectingNote& note() const { return note_; }
  // What was collected is not in OUT: leave it to `recover`.
  void keep() { kept_ = true; }
  // What was collected is safe elsewhere, or is not wanted.
  void let_go() { kept_ = false; }

 private:
  void make_folder(const std::string& scratch);
  void write_notes();

  CollectingNote note_;
  bool kept_ = false;
};

}  // namespace spscope
