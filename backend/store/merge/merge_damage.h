// What a tolerant merge (recover) does beyond a strict one: events that cannot be decoded are left out and counted, and
// rows that refer to lost ones are dropped, so that the strict rest of the merge writes a file whose parts agree.
#pragma once

#include <span>

#include "backend/store/merge/merge_input.h"

namespace spscope {

// Decodes every chunk of a source once and drops those that cannot be; their events count as unreadable.
void check_chunks(MergeSource& source, Damage& damage);

// After the tables were copied. Drops plans and masks that cannot be decoded and rows that refer to what is lost. When
// rows of figures are lost, every run counts as begun and not finished; when events are, no run has timelines. Events
// of runs without a row become events of no run. Throws Error: neither a run nor an event is left (kStoreOpen,
// kStoreCorrupt), `out` cannot be written (kStoreWrite).
void make_consistent(Database& out, std::span<MergeSource> sources, Damage& damage);

}  // namespace spscope
