// StoreWriter: writes one finished SQLite file or nothing, or a shard.
//
// Of a finished file everything goes to OUT.tmp in the folder of OUT, locked against a second run; finish() makes it
// durable and renames it. A writer that is destroyed before finish() removes what it wrote, so OUT is never
// half-written. A file that is not ours is never overwritten, and an existing OUT only with `force`.
//
// A shard holds a part of a run that is going on, for merge_shards. It has a write-ahead log: what checkpoint()
// committed stays when the process is killed, and others can read it meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backend/mask/block_mask.h"
#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/record/events.h"
#include "backend/record/rank_records.h"
#include "backend/store/chunk/event_writer.h"
#include "backend/store/output_file.h"
#include "backend/store/records.h"

namespace spscope {

struct WriteOptions {
  bool force = false;             // replace OUT when it is a store of ours
  std::string tool_version = {};  // of this program
  std::int64_t max_bytes = 0;     // fail when the file would grow past this; 0: no limit but the disk's
};

// Every member throws Error (kStoreWrite, with path and hint) when the disk is full or the file cannot be written.
// For one thread at a time.
class StoreWriter {
 public:
  // Throws Error: OUT exists (kStoreExists), is not a store of ours (kStoreForeign), is being written by another run
  // (kStoreBusy), or its folder is missing or cannot be written (kOutputPlace).
  explicit StoreWriter(std::string path, const WriteOptions& options = {});
  // The same for an output that the caller has locked; finish() commits it. `out` must outlive the writer.
  StoreWriter(OutputFile& out, const WriteOptions& options);
  // A new shard at `path`, on a local disk. Throws Error: it exists (kStoreExists), or cannot be made (kOutputPlace).
  static StoreWriter shard(const std::string& path, const ShardRecord& shard, const WriteOptions& options = {});
  ~StoreWriter();
  StoreWriter(StoreWriter&&) noexcept;
  StoreWriter& operator=(StoreWriter&&) noexcept;

  void add_machine(std::span<const MachineFact> facts);
  WorkloadId add_workload(const WorkloadRecord& workload);
  StrategyId add_strategy(const StrategyRecord& strategy);
  // A layer pass of the strategy, about to begin, is the first with the mesh of this number: `label` names all of them.
  void add_mesh(StrategyId strategy, std::size_t number, const RankMesh& mesh, const std::string& label);
  // A legal strategy cannot go on: it becomes illegal, with this as its problem, and its runs count as not finished. It
  // keeps its label and meshes, to which these runs refer.
  void refuse_strategy(StrategyId strategy, const Problem& problem);
  // Stored once per content. `recipe` as in MaskRecord; with "" the bits are stored.
  StoredMaskId add_mask(const BlockMask& mask, std::string_view recipe);
  void place_mask(WorkloadId workload, const MaskPlace& place);
  // Stored once per content.
  PlanId add_plan(const Plan& plan);
  RunId add_run(const RunRecord& run);
  // The same in two steps: a run is begun before its events come, and has its figures when it is finished. Of the first
  // record only strategy, layer, step and plan matter.
  RunId begin_run(const RunRecord& run);
  void finish_run(RunId id, const RunRecord& run);
  void add_usage(RunId run, std::span<const RankUsage> ranks);
  void add_traffic(RunId run, std::span<const Traffic> traffic);
  // A repeat of which only the makespan is kept, or, with has_timeline, whose events are in shards of ranks.
  void add_repeat(RunId run, const RepeatRecord& repeat);
  // A repeat with the times of every op; its events carry the plan's op ids.
  // REQUIRES: timeline.ops has one entry per op of the plan, 0 <= post <= begin <= end, and repeats do not touch.
  void add_repeat(RunId run, const RepeatRecord& repeat, const Plan& plan, const Timeline& timeline,
                  const RunProvenance& provenance);
  void add_rank_process(const RankProcess& process);
  void add_collector(const CollectorRecord& collector);
  void add_rank_clock(const RankClock& clock);
  void add_clock_samples(int rank, std::span<const ClockSample> samples);
  // In place of those of the rank so far.
  void replace_clock_samples(int rank, std::span<const ClockSample> samples);
  void add_rank_repeat(const RankRepeat& repeat);
  void add_incident(const IncidentRecord& incident);
  EventWriter& events();
  // For what the members above do not cover. Nothing may be committed or rolled back on it.
  Database& database();

  // Where the file will be.
  const std::string& path() const;
  // Writes buffered events and commits. Of a shard, readers and recovery see everything so far; a finished file is
  // still discarded.
  void checkpoint();
  // Commits; of a finished file fsyncs and renames. Nothing else may be called afterwards.
  void finish();

 private:
  struct State;
  explicit StoreWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spscope
