// Attachment: one process that is watched, with its shard.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/attach/attach.h"
#include "backend/attach/attach_socket.h"
#include "backend/collect/shard_writer.h"
#include "backend/record/shared_trace_reader.h"
#include "backend/store/shard_process.h"

namespace spscope {

// The path of a shard: of a rank, the name that it has in runs; a second process of it, and those of no rank, are
// numbered. `number`: no other process of this collection has it.
std::string shard_path(const CollectingNote& note, std::optional<int> rank, int number);

class Attachment {
 public:
  // Makes the shard at `path`, then gives the process its memory. `clock`: from the raw clock to the run clock. Throws
  // Error: the shard cannot be made, or the process waits no more.
  Attachment(std::unique_ptr<AttachedProcess> process, const std::string& path, const CollectingNote& collection,
             const ClockFit& clock, const AttachSetup& setup);
  // Waits until it is finished, where that was begun.
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  int connection() const { return process_->connection(); }
  CollectWindows& windows() const { return process_->memory().windows; }
  void wake() const { process_->wake(); }  // once they have changed
  // Brings over what is there; says whether that was anything.
  bool drain();
  // Notes when the process ended, if it has: before another one begins, which may be the same rank again.
  void note_end();
  // Begins to bring over the rest and to complete the shard, on a thread of its own: a slow disk keeps no other process
  // waiting. A process that has not ended `lives_on`, and what it does from now on is not wanted. No drain() follows.
  void begin_to_finish(bool lives_on);
  bool is_finished() const { return is_finished_; }
  // Waits until it is finished. REQUIRES: begin_to_finish() was called, as for all that follows.
  void join();
  bool has_collected() const { return has_collected_; }                           // false: it could not take the memory
  const std::vector<CollectorRecord>& collectors() const { return collectors_; }  // what they took
  // Of events that the shard could not take, which its own ledger does not know.
  const std::optional<IncidentRecord>& loss() const { return loss_; }
  std::int64_t lost() const { return lost_; }  // how many

 private:
  void finish(bool lives_on);
  void store_process();
  void store_loss(const std::string& what);  // and says it
  void note(const std::string& text) const { on_note_(process_->name(), text); }

  const std::unique_ptr<AttachedProcess> process_;
  const AttachNotes on_note_;
  ShardProcess about_;
  ShardWriter shard_;
  SharedTraceReader reader_;
  std::vector<CollectorRecord> collectors_;
  std::optional<IncidentRecord> loss_;
  std::int64_t lost_ = 0;
  bool has_collected_ = true;
  std::atomic<bool> is_finished_{false};
  std::thread finishing_;
};

}  // namespace spscope
