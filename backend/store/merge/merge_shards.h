// merge_shards: makes one finished file from the shards of a collection.
//
// A collection is one head shard (every small table: what was asked and what came out) and one shard a rank process
// (the events of its ranks, on the raw clock of its host). Merge copies the head's tables, puts all events on the run
// clock in full chunks, closes the ledger with what the now pages beside the shards say was sent, makes events of what
// was still running, builds the pyramids, and renames OUT.tmp to OUT when everything is durable. Until then OUT does
// not exist, and the shards are only read; an attempt that was cut off is begun again from them. docs/design.md has the
// order of the steps, their files and threads, and what is in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/record/events.h"
#include "backend/record/rank_records.h"
#include "backend/store/output_file.h"

namespace spscope {

struct MergeOptions {
  // Go on past damage and past shards that are missing: what cannot be read is counted, not fatal.
  bool tolerant = false;
  std::string tool_version = {};
  std::optional<EventWindow> range = {};       // of finished files: keep only the events of these times (keep_range.h)
  std::vector<IncidentRecord> incidents = {};  // that are in no shard; they come before those of shards
  const std::atomic<bool>* interrupt = nullptr;  // true: stop with kInterrupted; the shards stay
  // Events so far, of how many. Called from the calling thread.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress = {};
};

// Of the processes of a program that was watched (record/process_ranks.h).
struct MergedRanks {
  std::map<std::string, std::optional<int>> of_processes = {};  // by the names that their tracks have
  std::set<int> all = {};
  std::string text = {};  // what gave them, for people; "": nothing gave one
};

// What became of the events of all tracks: sent = events + dropped + unreadable + lost.
struct MergeReport {
  std::int64_t events = 0;      // in the file, unfinished ones among them
  std::int64_t unfinished = 0;  // made from the now pages: what was running when recording stopped
  std::int64_t dropped = 0, unreadable = 0, lost = 0;
  int shards = 0;  // that were read
  MergedRanks ranks;
  std::int64_t finished_runs = 0;  // in the file: layer passes with figures
  std::vector<std::string> notes;  // what a tolerant merge passed over, for people
};

// Writes `out` from the shards, in any order; exactly one of them is the head unless `tolerant`. The now page of
// DIR/NAME.db is DIR/NAME.now. The caller removes the shards afterwards.
// Throws Error: a shard cannot be read (kStoreOpen, kStoreCorrupt), they are not of one collection (kStoreForeign), the
// disk is full (kStoreWrite), interrupted (kInterrupted).
MergeReport merge_shards(OutputFile& out, std::span<const std::string> shards, const MergeOptions& options);

// The ranks that a tolerant merge of these shards would give. Throws Error as that does.
MergedRanks ranks_of_shards(std::span<const std::string> shards);

}  // namespace spscope
