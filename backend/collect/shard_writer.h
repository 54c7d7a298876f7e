// ShardWriter: brings the events of a process's tracks to its shard.
//
// Each track has a ring (event_ring.h). One thread takes what is in the rings, packs it into chunks and commits 40 ms
// after the first event that is not committed, so that a crash loses at most 100 ms of the newest events. Threads that
// push never wait for it. When the shard cannot be written any more, what was committed stays, every later event counts
// as dropped, and the error is kept for whoever asks: a full disk does not stop the ranks by itself.
//
// All members but those of the rings are for one thread, the one that starts repeats.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/record/reader_sleep.h"
#include "backend/record/trace_sink.h"
#include "backend/store/store_writer.h"

namespace spscope {

// What a commit made safe: so many events of the track, from the first on.
struct CommittedTrack {
  const Track* track = nullptr;
  std::int64_t events = 0;
};

struct ShardWriterOptions {
  ShardRecord shard;
  WriteOptions write;
  std::int64_t commit_every_ns = 40'000'000;  // after the first event that is not committed
  std::int64_t (*now)() noexcept = now_ns;
  // The thread sleeps while nothing comes, and a push into a ring wakes it: a call of the kernel, which lanes of ranks
  // are spared.
  bool sleeps = false;
  // After each commit that brought events, with the tracks that it did. By the writing thread, or by a caller of
  // checkpoint() and finish().
  std::function<void(std::span<const CommittedTrack>)> on_commit;
  // Once, when the shard cannot be written any more. By the same threads.
  std::function<void(const Error&)> on_failure;
};

// What the writing thread is called, for whoever looks at the threads of a process; at most 15 characters.
inline constexpr const char* kShardWriterThread = "shard-writer";

class ShardWriter final : public TraceSink {
 public:
  // Makes the shard and starts the thread. Throws Error (kStoreWrite): the shard cannot be made, or no thread started.
  ShardWriter(const std::string& path, ShardWriterOptions options);
  // Stops the thread. What was not committed is given up: finish() commits it.
  ~ShardWriter() override;
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  EventRing& ring(const Track& track, std::size_t capacity) override;
  // Names, details and communicators of events to come, as in EventWriter. 0 after a failure.
  NameId name(std::string_view text) override;
  WorkDetailId detail(const WorkDetail& what) override;
  void missed(const Track& track, std::int64_t dropped, std::int64_t unreadable) override;
  CommunicatorId communicator(int lane, std::span<const int> ranks);
  void set_clock(const ClockFit& fit) override;
  // Writes rows beside the events. After a failure nothing is called.
  void write(const std::function<void(StoreWriter&)>& rows);

  // Commits everything that was pushed and written so far.
  void checkpoint();
  // The same for the last time: no lane pushes any more. The shard is then complete.
  void finish();

  // What became of the events of a track that was finished: sent = stored + dropped + unreadable.
  struct TrackCount {
    Track track;
    std::int64_t sent = 0, stored = 0, dropped = 0, unreadable = 0;
    std::int64_t untold = 0;  // of those that are not stored: what the ledger of the shard has not, after a failure
  };
  std::vector<TrackCount> counts() const;
  std::int64_t untold() const;  // of all tracks
  // Events whose begin lay before the end of the one before, or whose end before their begin: moved there and marked.
  std::int64_t clamped() const;
  // Why the shard cannot be written any more, with its path and bytes.
  std::optional<Error> failure() const;

 private:
  struct Source;
  Source& source(const Track& track);  // made when it is new
  void run();
  struct Drained {
    bool any = false, more = false;  // something was taken; a ring may hold more
  };
  Drained drain(std::size_t most);
  void begin_to_commit();
  std::int64_t commit_when_due();
  void append(Source& source, std::span<const RingRecord> records);
  void commit();
  void guarded(const std::function<void()>& step);
  void fail(const Error& error);
  void stop();

  const std::string path_;
  const ShardWriterOptions options_;
  ReaderSleep sleep_;         // of the thread
  mutable std::mutex mutex_;  // of all below; held by the thread except while it sleeps
  bool stopping_ = false;
  std::optional<StoreWriter> store_;  // absent after finish() and after a failure
  std::optional<Error> failure_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<CommittedTrack> committed_;  // scratch of commit()
  std::vector<SpanEvent> spans_;           // scratch of append()
  std::vector<CollectiveEvent> collectives_;
  std::vector<CounterSample> samples_;
  std::vector<WorkEvent> work_;
  std::optional<std::int64_t> uncommitted_since_ns_;
  std::int64_t clamped_ = 0;
  std::thread thread_;
};

// Brings the write-ahead log of a finished shard into the shard, so that one file holds all of it, where a reader kept
// that from happening when the writer ended. The log stays, and still counts, when the disk has no room for it.
// REQUIRES: nobody writes to the shard.
void close_log(const std::string& path);

}  // namespace spscope
