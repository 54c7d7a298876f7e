// StoreReader: reads a finished store, or a shard. It never writes: the file may be read-only, alone in a read-only
// folder, on a file system without locks, or made by somebody else to do harm.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/cancel_token.h"
#include "backend/mask/block_mask.h"
#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/record/events.h"
#include "backend/record/rank_records.h"
#include "backend/store/chunk/event_reader.h"
#include "backend/store/name_statistics.h"
#include "backend/store/pyramid/lod_store.h"
#include "backend/store/records.h"
#include "backend/store/sqlite/query.h"

namespace spscope {

// The statement that makes a table or view, with the comments of its columns.
struct TableText {
  std::string name, text;
  bool in_file = false;  // else this program adds it
};

// Lists are in the order in which they were written unless said otherwise. Every member throws Error (kStoreCorrupt)
// when it meets damage, and for an id that the file does not hold. For one thread at a time.
class StoreReader {
 public:
  // Throws Error: cannot be opened or is unfinished (kStoreOpen), is not a store (kStoreForeign), needs a newer program
  // (kStoreVersion, with both numbers), is damaged (kStoreCorrupt).
  explicit StoreReader(std::string path);
  // A shard, which may still be written: each member tells what was committed when it was called.
  static StoreReader shard(const std::string& path);
  ~StoreReader();
  StoreReader(StoreReader&&) noexcept;
  StoreReader& operator=(StoreReader&&) noexcept;

  const std::string& path() const;
  const FileRecord& file() const;
  const ShardRecord& shard_record() const;
  std::vector<MachineFact> machine() const;
  std::vector<WorkloadRecord> workloads() const;
  std::vector<StrategyRecord> strategies() const;
  // The node of each rank, by which bytes inside and between nodes were told apart: those of the cluster, and empty
  // where processes on several hosts went by their own.
  std::vector<int> nodes_of_ranks(const StrategyRecord& strategy) const;
  // By denoise step, then layer. Unfinished ones too.
  std::vector<RunRecord> runs(StrategyId strategy) const;
  std::vector<RankUsage> usage(RunId run) const;  // by rank
  std::vector<Traffic> traffic(RunId run) const;  // by src, dst, tensor
  std::vector<RepeatRecord> repeats(RunId run) const;
  std::map<RunId, std::vector<RepeatRecord>> repeats(StrategyId strategy) const;  // of all its runs
  std::vector<RankRepeat> rank_repeats(RunId run) const;                          // by repeat, rank
  std::vector<CollectorRecord> collectors() const;                                // by process, by name
  std::vector<RankProcess> rank_processes() const;                                // by rank
  std::vector<RankClock> rank_clocks() const;  // by rank, of which kNoRank is the first
  std::vector<ClockSample> clock_samples(int rank) const;
  std::vector<IncidentRecord> incidents() const;

  // With a set table of its own.
  Plan plan(PlanId plan) const;
  // The times of one repeat from its zero; absent when only the makespan was kept, or when events are missing.
  std::optional<Timeline> timeline(RunId run, int repeat) const;

  std::vector<MaskPlace> mask_places(WorkloadId workload) const;  // by denoise step, layer, axis
  MaskRecord mask_record(StoredMaskId mask) const;
  // The mask itself; absent when the file holds its recipe, from which backend/analysis/mask_recipe.h makes it again.
  std::optional<BlockMask> mask_bits(StoredMaskId mask) const;
  std::vector<DensityThumbnail> thumbnails(StoredMaskId mask) const;  // by head

  const EventReader& events() const;
  // Pyramids, their levels and strips. Its list is read at the first call.
  const LodReader& lod() const;
  // As name_statistics.h.
  NameStatistics name_statistics(const NameQuery& query) const;
  std::vector<NameCount> find_name(std::string_view text) const;
  // From now on every member, events() and lod() end with Error (kCancelled) soon after the token is cancelled, by any
  // thread. For the next question give a new token.
  void cancel_by(const CancelToken& token);
  // The answer of one read-only question in SQL, over the tables and views of schemas/. Throws Error (kStoreQuery).
  QueryResult query(const std::string& sql, const QueryLimits& limits = {}) const;
  // The tables of the file, and before them the tables and views that this program adds to it, by name.
  std::vector<TableText> schema() const;

 private:
  struct State;
  explicit StoreReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spscope
