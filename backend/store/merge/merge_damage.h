// What a tolerant merge (recover) does beyond a strict one: events that cannot be decoded are left out and counted, and
// rows that refer to lost ones are dropped, so that the strict rest of the merge writes a file whose parts agree.
#pragma once

#include <span>

#include "backend/store/merge/merge_input.h"

namespace spscope {

// Decodes every chunk of a source once and drops those that cannot be; their events count as unreadable.
void check_chunks(MergeSource& source, Damage& damage);

// Notes the pages of a source that were read after a bit of them was mended. After the last that is read of it.
void note_mended_pages(const MergeSource& source, Damage& damage);

// After the tables were copied. A run whose figures are not those of its checksum is damage, and counts as not finished
// where damage is tolerated; of shards, one without a checksum too. Throws Error as Damage::meet does.
void check_figures(Database& out, std::span<const MergeSource> sources, Damage& damage);

// The same and more, where damage is tolerated. Drops plans, masks and rows that are damaged or refer to what is lost.
// A run of which a part of the figures is lost counts as begun and not finished, and one whose events may be incomplete
// has no timelines. Events of runs without a row become events of no run. Throws Error: neither a run nor an event is
// left (kStoreOpen, kStoreCorrupt), `out` cannot be written (kStoreWrite).
void make_consistent(Database& out, std::span<MergeSource> sources, Damage& damage);

}  // namespace spscope
