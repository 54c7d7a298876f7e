// StripChunks: the strips of all ranks of files, read in chunks of time by other threads and kept in memory. A view
// asks for what is on the screen in each frame: it gets what is there, and where the shift that it wants is still being
// read, wider buckets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gui/session/query_slot.h"
#include "gui/views/timeline/lru_cache.h"
#include "gui/views/timeline/strip_picture.h"

namespace spscope::gui {

// Buckets of a chunk.
inline constexpr int kChunkShift = 11;

// The smallest shift whose buckets are at least a pixel wide, and at least as wide as those of `least`.
int strip_shift(double ns_per_pixel, int least);
// The smallest shift, from `least` on, at which one chunk or two beside each other hold [begin, end).
int whole_shift(std::int64_t begin_ns, std::int64_t end_ns, int least);

struct StripChunk {
  int shift = 0;
  std::int64_t first_bucket = 0;
  std::vector<RowStrip> ranks;
  std::size_t bytes() const;
};

// A file on disk, as readers know it, and its time.
struct StripFile {
  std::string path;
  int generation = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // of its run clock, all that it has
  int base_shift = 0;                     // the smallest of its ranks
};

class StripChunks {
 public:
  explicit StripChunks(std::size_t most_bytes = std::size_t{256} << 20) : cache_(most_bytes) {}

  // What is there of [begin, end), in disjoint pieces in order of time; asks for what is not. Valid until the next
  // call.
  std::vector<StripPiece> pieces(Workers& workers, const StripFile& file, int shift, std::int64_t begin_ns,
                                 std::int64_t end_ns);
  // Between these, all calls of a frame: what none of them asked for is not read any more.
  void begin_frame();
  void end_frame();
  bool loading() const { return !asked_.empty(); }
  // Why a chunk of the file could not be read; nullptr when none failed.
  const Error* error(const StripFile& file) const;
  std::size_t bytes() const { return cache_.bytes(); }

 private:
  // path, generation, shift, number of the chunk
  using Key = std::tuple<std::string, int, int, std::int64_t>;
  struct Asked {
    QuerySlot<StripChunk> slot;
    bool wanted = false;
  };
  std::shared_ptr<const StripChunk> take(Workers& workers, const StripFile& file, int shift, std::int64_t chunk,
                                         bool ask);

  LruCache<Key, StripChunk> cache_;
  std::map<Key, std::unique_ptr<Asked>> asked_;
  std::map<std::pair<std::string, int>, Error> failed_;  // by path and generation
};

}  // namespace spscope::gui
