// Attachment: one process that is watched, with its shard.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/attach/attach.h"
#include "backend/attach/attach_socket.h"
#include "backend/collect/shard_writer.h"
#include "backend/record/shared_trace_reader.h"

namespace spscope {

class Attachment {
 public:
  // `number`: of the processes of this collection, from 1 on. `clock`: from the raw clock to the run clock. Throws
  // Error: the shard cannot be made.
  Attachment(std::unique_ptr<AttachedProcess> process, int number, const CollectingNote& collection,
             const ClockFit& clock, const AttachSetup& setup);
  // Waits until it is finished, where that was begun.
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  int connection() const { return process_->connection(); }
  // Brings over what is there; says whether that was anything.
  bool drain() { return reader_.drain(); }
  // Begins to bring over the rest and to complete the shard, on a thread of its own: a slow disk keeps no other process
  // waiting. A process that has not ended `lives_on`, and what it does from now on is not wanted. No drain() follows.
  void begin_to_finish(bool lives_on);
  bool is_finished() const { return is_finished_; }
  // What its collectors took; waits until it is finished. REQUIRES: begin_to_finish() was called.
  const std::vector<CollectorRecord>& collectors();

 private:
  void finish(bool lives_on);
  void note(const std::string& text) const { on_note_(process_->name(), text); }

  const std::unique_ptr<AttachedProcess> process_;
  const AttachNotes on_note_;
  ShardWriter shard_;
  SharedTraceReader reader_;
  std::vector<CollectorRecord> collectors_;
  std::atomic<bool> is_finished_{false};
  std::thread finishing_;
};

}  // namespace spscope
