// Attachment: one process that is watched, with its shard.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/attach/attach.h"
#include "backend/attach/attach_socket.h"
#include "backend/attach/bell.h"
#include "backend/collect/shard_writer.h"
#include "backend/record/shared_trace_reader.h"
#include "backend/store/shard_process.h"

namespace spscope {

// What the processes of a program have in common.
struct AttachedProgram {
  const CollectingNote& collection;
  const ClockFit clock;  // from the raw clock to the run clock
  const AttachSetup& setup;
  const Bell changed;  // rings when one is finished, or a window of its own has begun or ended
};

class Attachment {
 public:
  // Begins, on a thread of its own, to make the shard at `path`, to give the process its memory, and to bring over what
  // the process leaves there: a slow disk keeps no other process waiting. What finds no room in the memory meanwhile
  // the process counts as dropped. While nothing comes the thread sleeps. `program` outlives this. Throws: no thread
  // can be started.
  Attachment(std::unique_ptr<AttachedProcess> process, std::string path, const AttachedProgram& program);
  // Finishes it where that was not done.
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  int connection() const { return process_->connection(); }
  const std::string& name() const { return process_->name(); }
  CollectWindows& windows() const { return process_->memory().windows; }
  // Tells the process that its windows have changed, once it has the memory.
  void wake();
  // Notes when the process ended, if it has: before another one begins, which may be the same rank again.
  void note_end();
  // The thread brings over the rest, completes the shard and ends. A process that has not ended `lives_on`, and what it
  // does from now on is not wanted.
  void begin_to_finish(bool lives_on);
  bool is_finished() const { return is_finished_; }  // also where the process could not be given its memory
  // Waits until it is finished. REQUIRES: begin_to_finish() was called or it is finished, as for all that follows.
  void join();
  const std::string& why_refused() const { return why_refused_; }                 // "": it was given its memory
  bool has_collected() const { return has_collected_; }                           // false: it could not take the memory
  const std::vector<CollectorRecord>& collectors() const { return collectors_; }  // what they took
  // When its events were wanted, on the raw clock: CollectWindows::kMost at most. None: always.
  const std::vector<CollectWindow>& collected() const { return about_.windows; }
  // Of events that the shard could not take, which its own ledger does not know.
  const std::optional<IncidentRecord>& loss() const { return loss_; }
  std::int64_t lost() const { return lost_; }  // how many

 private:
  enum class Wish : std::uint8_t { kFollow, kFinish, kFinishWhileItLives };
  void work();
  void make_shard();
  void give_memory();
  void bring_over();
  bool follow();
  Wish wish();
  bool drain();
  bool take_windows();
  void bring_rest();
  void store_end(bool lives_on, const std::optional<Error>& failed);
  void complete();
  void store_process();
  void store_loss(const std::string& what);  // and says it
  void note(const std::string& text) const { program_.setup.on_note(process_->name(), text); }

  const std::unique_ptr<AttachedProcess> process_;
  const std::string path_;
  const AttachedProgram& program_;
  // Of the thread, once it has begun.
  ShardProcess about_;
  std::optional<ShardWriter> shard_;
  std::optional<SharedTraceReader> reader_;
  std::uint64_t windows_taken_ = 0;
  std::vector<CollectWindow> windows_ended_;
  std::string why_refused_;
  std::vector<CollectorRecord> collectors_;
  std::optional<IncidentRecord> loss_;
  std::int64_t lost_ = 0;
  bool has_collected_ = true;
  // Of both.
  std::atomic<std::int64_t> end_ns_{0};  // of the process; 0: nobody saw it
  std::mutex mutex_;                     // of the next two
  Wish wish_ = Wish::kFollow;
  bool is_given_ = false;  // the memory
  std::atomic<bool> is_finished_{false};
  std::thread thread_;
};

}  // namespace spscope
