#include "gui/views/timeline/strip_chunks.h"

#include <fmt/format.h>

#include <algorithm>

namespace spscope::gui {

int strip_shift(double ns_per_pixel, int least) {
  int shift = std::clamp(least, 0, kMaxLodShift);
  while (shift < kMaxLodShift && static_cast<double>(std::int64_t{1} << shift) < ns_per_pixel) ++shift;
  return shift;
}

int whole_shift(std::int64_t begin_ns, std::int64_t end_ns, int least) {
  int shift = std::clamp(least, 0, kMaxLodShift - kChunkShift);
  while (shift < kMaxLodShift - kChunkShift &&
         ((end_ns - 1) >> (shift + kChunkShift)) - (begin_ns >> (shift + kChunkShift)) > 1)
    ++shift;
  return shift;
}

std::size_t StripChunk::bytes() const {
  std::size_t sum = sizeof(StripChunk);
  for (const RowStrip& rank : ranks) sum += sizeof(RowStrip) + rank.strip.size();
  return sum;
}

void StripChunks::begin_frame() {
  for (const auto& [key, asked] : asked_) asked->wanted = false;
}

void StripChunks::end_frame() {
  std::erase_if(asked_, [](const auto& row) { return !row.second->wanted; });
}

const Error* StripChunks::error(const StripFile& file) const {
  const auto found = failed_.find({file.path, file.generation});
  return found != failed_.end() ? &found->second : nullptr;
}

std::shared_ptr<const StripChunk> StripChunks::take(Workers& workers, const StripFile& file, int shift,
                                                    std::int64_t chunk, bool ask) {
  const Key key{file.path, file.generation, shift, chunk};
  if (auto kept = cache_.find(key)) return kept;
  if (!ask || error(file) != nullptr) return nullptr;
  std::unique_ptr<Asked>& asked = asked_[key];
  if (!asked) asked = std::make_unique<Asked>();
  asked->wanted = true;
  asked->slot.ask(workers, fmt::format("{} {}", shift, chunk),
                  [path = file.path, generation = file.generation, shift, chunk](Readers& readers, const Cancelled&,
                                                                                 QueryProgress&) {
                    const std::int64_t first = chunk << kChunkShift;
                    const auto& lod = readers.of(path, generation).lod();
                    return StripChunk{shift, first, lod.row_strips(shift, first, first + (1 << kChunkShift))};
                  });
  if (const Error* fault = asked->slot.error()) {
    failed_.emplace(std::pair(file.path, file.generation), *fault);
  } else if (auto answer = asked->slot.share()) {
    const std::size_t bytes = answer->bytes();
    cache_.put(key, std::move(answer), bytes);
  } else {
    return nullptr;
  }
  asked_.erase(key);
  return cache_.find(key);
}

std::vector<StripPiece> StripChunks::pieces(Workers& workers, const StripFile& file, int shift, std::int64_t begin_ns,
                                            std::int64_t end_ns) {
  begin_ns = std::max(begin_ns, file.begin_ns);
  end_ns = std::min(end_ns, file.end_ns);
  std::vector<StripPiece> pieces;
  if (begin_ns >= end_ns) return pieces;
  // All of it at once is asked for last, so that it is read first: it stands in for what is still missing.
  const int whole = std::max(shift, whole_shift(file.begin_ns, file.end_ns, file.base_shift));
  const int slot = shift + kChunkShift;
  for (std::int64_t chunk = begin_ns >> slot; chunk <= (end_ns - 1) >> slot; ++chunk) {
    std::shared_ptr<const StripChunk> found = take(workers, file, shift, chunk, true);
    for (int wider = shift + 1; found == nullptr && wider <= whole; ++wider)
      found = take(workers, file, wider, chunk >> (wider - shift), wider == whole);
    if (found == nullptr) continue;
    StripPiece piece{.shift = found->shift,
                     .first_bucket = found->first_bucket,
                     .begin_ns = std::max(begin_ns, lod_begin_ns(chunk, slot)),
                     .end_ns = std::min(end_ns, lod_begin_ns(chunk + 1, slot))};
    for (const RowStrip& rank : found->ranks) piece.rows.emplace_back(rank.strip);
    piece.held = std::move(found);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace spscope::gui
