// StoreWriter: writes one finished SQLite file, or nothing.
//
// Everything goes to OUT.tmp in the folder of OUT, locked against a second run; finish() makes it durable and renames
// it. A writer that is destroyed before finish() removes what it wrote, so OUT is never half-written. A file that is
// not ours is never overwritten, and an existing OUT only with `force`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backend/mask/block_mask.h"
#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/store/events.h"
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
  ~StoreWriter();
  StoreWriter(StoreWriter&&) noexcept;
  StoreWriter& operator=(StoreWriter&&) noexcept;

  void add_machine(std::span<const MachineFact> facts);
  WorkloadId add_workload(const WorkloadRecord& workload);
  StrategyId add_strategy(const StrategyRecord& strategy);
  // Stored once per content. `recipe` as in MaskRecord; with "" the bits are stored.
  StoredMaskId add_mask(const BlockMask& mask, std::string_view recipe);
  void place_mask(WorkloadId workload, const MaskPlace& place);
  // Stored once per content.
  PlanId add_plan(const Plan& plan);
  RunId add_run(const RunRecord& run);
  void add_usage(RunId run, std::span<const RankUsage> ranks);
  void add_traffic(RunId run, std::span<const Traffic> traffic);
  // A repeat of which only the makespan is kept.
  void add_repeat(RunId run, const RepeatRecord& repeat);
  // A repeat with the times of every op; its events carry the plan's op ids.
  // REQUIRES: timeline.ops has one entry per op of the plan, 0 <= post <= begin <= end, and passes do not touch.
  void add_repeat(RunId run, const RepeatRecord& repeat, const Plan& plan, const Timeline& timeline,
                  const RunProvenance& provenance);
  EventWriter& events();

  // Where the file will be.
  const std::string& path() const;
  // Commits, fsyncs and renames. Nothing else may be called afterwards.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What the constructor of StoreWriter would refuse, without touching anything: so that a long run fails at once.
// Throws the same errors.
void check_output(const std::string& path, bool force);

}  // namespace spscope
