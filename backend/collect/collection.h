// A collection: a run in progress, as files on a local disk.
//
//   SCRATCH/spscope-STEM-XXXXXX/STEM.head.db     what was asked and what came out so far
//                               STEM.rank-N.db   the events of one process of ranks; N is its first rank
//                               STEM.rank-N.now  what each of its lanes does now (now_page.h)
//                               STEM.progress    where the run is (progress_page.h), where the head is
//                               STEM.lost        what a full disk lost (loss_file.h), of attach
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

#include "backend/record/collecting_note.h"

namespace spscope {

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
// What mark_recovered() recorded, as long as that file is there; else "".
std::string recovered_to(const CollectingNote& note);
// Records in the folder which file was made of it; a folder that cannot be written goes without.
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
  std::optional<CollectingNote> replaced_;  // of another collection to OUT, which ended early
  bool kept_ = false;
};

}  // namespace spscope
