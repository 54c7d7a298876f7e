// Session: records what GPUs do for this process, from its making to stop().
//
// CUPTI writes records into buffers of a pool (buffer_pool.h) on threads of the program; one thread of the session
// decodes them and hands each record to a sink. Kernels are recorded as they run, concurrently: the kind that makes the
// GPU run one at a time is never enabled. Times are on the raw clock of the host (now_ns()), because CUPTI asks our
// callback for it.
//
// Every record that CUPTI made is accounted for: sent = stored + dropped + unreadable (SessionLedger).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectors/cupti/buffer_pool.h"
#include "collectors/cupti/library.h"

namespace spscope::cupti {

struct SessionOptions {
  std::string library = {};  // path; "": the one of the process (library.h)
  PoolOptions pool = {};
  std::chrono::milliseconds flush_every{100};  // records are handed over at least so often
  bool markers = true;                         // NVTX
  // Threads of this process push ids (push_id), which reach work only by calls that are recorded. They call the driver,
  // so CUPTI records all calls of it. The driver is at work already: a CUPTI that does not tell the sizes of its
  // records by then is refused.
  bool ids = true;
  // On the session's thread, so often: what had ended some time before that has been handed over.
  std::function<void()> after_flush = {};
  std::function<void(bool starts)> on_profiler_call = {};  // CollectedProcess
};

// Where records went. Counts of a stopped session grow when CUPTI gives buffers back late.
struct SessionLedger {
  DecodeCounts decoded;              // what decoded.decoded counts was handed to the sink, or dropped_by_sink
  std::int64_t dropped_by_sink = 0;  // after the sink had failed
  PoolCounts pool;
  std::int64_t dropped_by_cupti = 0;  // which had no buffer

  std::int64_t stored() const { return decoded.decoded - dropped_by_sink; }
  // Untimed records are dropped: an event without times has no place.
  std::int64_t dropped() const { return dropped_by_cupti + dropped_by_sink + decoded.undated + pool.dropped_records; }
  std::int64_t unreadable() const { return decoded.unreadable; }
  std::int64_t sent() const { return stored() + dropped() + unreadable(); }
};

// A kind of records that is not collected, and why: "NVTX ranges: CUPTI ...".
using SessionNote = std::string;

class Session {
 public:
  // Starts recording. The sink is called on the session's thread, one record at a time; names in it are valid during
  // the call. When it throws, no more records are handed over, later ones count as dropped, and stop() throws what it
  // threw. Throws Error (kCannotCollect) when kernels cannot be recorded; nothing then stays enabled. One session at a
  // time.
  Session(const SessionOptions& options, RecordSink sink);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Ends recording: every buffer that CUPTI gives back when it is flushed is decoded. Work that has not ended by then
  // counts as dropped, so synchronise before. Throws the sink's error. Does nothing when called again.
  void stop();

  // Between the two nothing is recorded but chosen calls: CUPTI would not begin with them again (enable_calls). What
  // came before is still handed over. By one thread at a time, until stop().
  void pause() noexcept;
  void resume() noexcept;

  // Between the two, calls that this thread makes get the id, by which their work is known
  // (ExternalCorrelationRecord). They do not nest. Any thread, until stop().
  void push_id(std::uint64_t id) noexcept;
  void pop_id() noexcept;

  SessionLedger ledger() const;
  // CPU time of the session's thread; time of other threads in push_id() and pop_id(), from one call in 64; memory that
  // buffers have taken at most.
  std::int64_t thread_ns() const { return thread_ns_; }
  std::int64_t callback_ns() const { return callback_ns_ * kMeasureOne; }
  std::int64_t buffer_bytes() const;
  // After stop(): buffers that CUPTI has not given back. Nobody knows how many records are in them.
  int buffers_out() const;
  // After stop(): ids that were pushed after the last buffer came, though each call for them makes a record.
  std::int64_t pushed_in_vain() const;
  std::vector<SessionNote> notes() const;
  const Library& library() const { return library_; }

 private:
  class Measured;
  static constexpr std::uint32_t kMeasureOne = 64;

  void start_with_any_library();
  void begin_nvtx();
  void require(const char* call, int result);
  void note(std::string_view what, const Error& error);
  void subscribe();
  void start();
  void enable_all();
  bool enable(Kind kind, const char* what);
  void enable_calls();
  void watch_profiler_calls();
  void end() noexcept;
  void decode_until_drained();
  void learn_sizes();
  void decode(const FilledBuffer& buffer);
  void guarded(const std::function<void()>& step);
  void count_dropped();

  const SessionOptions options_;
  const RecordSink sink_;
  Library library_;
  int result_ = 0;     // of CUPTI, that ended a start
  RecordSizes sizes_;  // of the session's thread, once it has begun
  bool told_of_sizes_ = false, records_nvtx_ = false;
  void* subscriber_ = nullptr;
  BufferPool* pool_ = nullptr;  // callbacks.h: lives as long as the process
  std::vector<Kind> enabled_;
  std::vector<std::pair<Kind, std::uint32_t>> enabled_calls_;
  mutable std::mutex mutex_;  // of what follows; not held while CUPTI is called, which takes locks of its own
  std::vector<SessionNote> notes_;
  SessionLedger ledger_;
  std::optional<Error> sink_failure_;
  std::mutex flush_mutex_;  // one flush at a time, so that none is under way when the queue is closed; of stopping_
  bool stopping_ = false;
  std::atomic<std::int64_t> thread_ns_{0};
  std::atomic<int> push_result_{0};  // of the first push that failed
  std::atomic<std::uint32_t> num_pushed_{0}, pushed_by_last_buffer_{0};
  std::atomic<std::int64_t> callback_ns_{0};
  std::thread decoder_;
};

}  // namespace spscope::cupti
