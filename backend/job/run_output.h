// RunOutput: where a run goes in the end. It holds the lock of OUT and the collection from the first moment on, and
// makes OUT of the shards when everybody has written theirs. Events that are not in OUT stay in the collection,
// whatever ends the run, unless somebody says that they are not wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/base/error.h"
#include "backend/collect/collection.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/output_file.h"

namespace spscope {

struct RunOutputOptions {
  bool force = false;   // replace OUT when it is a store of ours
  std::string scratch;  // folder of the collection; "": the default one (environment.h)
  int ranks = 1;
  std::function<void(const std::string&)> on_note = {};  // what the user should know
  bool names_others = true;  // leftovers of runs to other files; each is counted in one run alone
};

class RunOutput {
 public:
  // A head, a page and a shard of ranks before the first event: a disk with less will not hold a run either.
  static constexpr std::int64_t kLeastBytes = 8 << 20;

  // `wanted`: OUT; "": nothing is wanted beyond what is printed, and OUT is a file in the scratch folder that is
  // removed with this object. Throws Error: OUT cannot be written, or the scratch folder will not do. Names collections
  // that a crash left.
  RunOutput(const std::string& wanted, const RunOutputOptions& options);

  // The collection goes when it was merged, is not wanted, or holds no event; else it is left to recover.
  ~RunOutput();
  RunOutput(const RunOutput&) = delete;
  RunOutput& operator=(const RunOutput&) = delete;

  // OUT: an absolute path.
  const std::string& path() const { return collection_.note().out; }
  const CollectingNote& note() const { return collection_.note(); }
  // Shards that ranks on other hosts write or wrote, until they were brought here.
  std::vector<CollectingElsewhere> places_elsewhere() const;
  // What was recorded is not wanted.
  void discard() { is_wanted_ = false; }
  // Makes OUT; the collection is removed with this object then. When OUT cannot be made, or shards are still on other
  // hosts, the collection stays, and the Error says where it is and how to recover it. REQUIRES: called once; the
  // shards are complete.
  MergeReport merge(const MergeOptions& options);
  // Throws an Error that says so: `error` is why OUT cannot be made, and the collection stays.
  [[noreturn]] void leave_to_recover(const Error& error);

 private:
  // A folder in the scratch folder, removed with this object.
  struct ScratchFolder {
    explicit ScratchFolder(const std::string& scratch);  // throws Error(kOutputPlace)
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    std::string path;
  };

  std::optional<ScratchFolder> unwanted_;  // has OUT when nobody wants it
  OutputFile out_;
  Collection collection_;
  bool is_wanted_, must_stay_ = false;
};

}  // namespace spscope
