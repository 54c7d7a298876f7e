// The tracks of a merged file: where the events of each come from, which op was still running, and how many of its
// events are missing. The last two are known from the now pages beside the shards.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/store/merge/merge_clock.h"
#include "backend/store/merge/merge_input.h"

namespace spscope {

// An event made of what the now page says of a lane: raw times, names of the output.
struct UnfinishedOp {
  RunId run = {};
  SpanEvent span;
};

// A track of the output, and where its events come from.
struct MergedTrack {
  const MergeSource* source = nullptr;
  const SourceTrack* from = nullptr;  // absent: the track has no more than an unfinished op
  Track track;                        // of the output
  const ClockFit* fit = nullptr;      // absent: on the run clock already
  std::vector<UnfinishedOp> unfinished;
};

// Adds an unfinished event for each op that a now page names as running and no event of its lane has. A lane without a
// track gets one. `name` gives the number of a name in the output, which has the plans already.
void add_unfinished_ops(Database& out, std::vector<MergedTrack>& tracks, std::span<const MergeSource> sources,
                        const std::function<NameId(const std::string&)>& name);

// What became of the events of each track, in the order of the tracks: from the ledgers of the shards, the chunks that
// could be read, and what the now pages say was sent.
std::vector<LedgerRecord> merged_ledger(std::span<const MergedTrack> tracks);

}  // namespace spscope
