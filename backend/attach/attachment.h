// Attachment: one process that is watched, with its shard.
#pragma once

#include <memory>
#include <string>
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

  int connection() const { return process_->connection(); }
  // Brings over what is there; says whether that was anything.
  bool drain() { return reader_.drain(); }
  // Brings over what was left until now, and completes the shard: whatever the process does from now on is not stored.
  // What its collectors took.
  std::vector<CollectorRecord> finish();

 private:
  const std::unique_ptr<AttachedProcess> process_;
  const std::function<void(const std::string&)> on_note_;
  ShardWriter shard_;
  SharedTraceReader reader_;
  std::int64_t records_ = 0;  // that were brought over when it was last looked
};

}  // namespace spscope
