#include "backend/collect/shard_writer.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>

#include "backend/base/check.h"
#include "backend/base/result.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {
namespace {

constexpr auto kNap = std::chrono::milliseconds(2);  // when all rings are empty
// Records taken from a ring before the next one has its turn, and before the clock is looked at.
constexpr std::size_t kBurst = 16 * 1024;

std::int64_t file_bytes(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.st_size) : 0;
}

// "...; the shard holds 4096 bytes and 0 are free there"
Error with_bytes(const Error& error, const std::string& path) {
  struct statvfs room;
  const std::int64_t free_bytes = ::statvfs(path.c_str(), &room) == 0 ? static_cast<std::int64_t>(room.f_bavail) *
                                                                            static_cast<std::int64_t>(room.f_frsize)
                                                                      : 0;
  return Error(error.code(),
               fmt::format("{}; the shard \"{}\" holds {} bytes and {} are free there", error.what(), path,
                           file_bytes(path) + file_bytes(path + "-wal"), free_bytes),
               "free space there, or set run.scratch to another folder on a local disk");
}

}  // namespace

struct ShardWriter::Lane {
  Lane(int rank, int lane, StreamId stream, std::size_t capacity)
      : rank(rank), lane(lane), stream(stream), ring(capacity) {}
  const int rank, lane;
  const StreamId stream;
  EventRing ring;
  std::int64_t taken = 0, committed = 0;  // events
  std::int64_t dropped = 0;               // of the ring, as far as the store knows
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();
};

ShardWriter::ShardWriter(const std::string& path, ShardWriterOptions options)
    : path_(path), options_(std::move(options)), store_(StoreWriter::shard(path_, options_.shard, options_.write)) {
  thread_ = std::thread([this] { run(); });
}

ShardWriter::~ShardWriter() { stop(); }

void ShardWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ShardWriter::run() {
  ::pthread_setname_np(::pthread_self(), kShardWriterThread);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    bool more = false;
    guarded([&] {
      more = drain(kBurst);
      if (!uncommitted_since_ns_) return;
      const std::int64_t now = options_.now();
      // A clock that went back must not put the commit off.
      uncommitted_since_ns_ = std::min(*uncommitted_since_ns_, now);
      if (now - *uncommitted_since_ns_ >= options_.commit_every_ns) commit();
    });
    if (more) {  // others get the lock between two rounds
      lock.unlock();
      lock.lock();
    } else {
      wake_.wait_for(lock, kNap, [&] { return stopping_; });
    }
  }
}

// Runs a step that writes; its failure is the end of writing.
void ShardWriter::guarded(const std::function<void()>& step) {
  const Result<bool> done = capture([&] {
    step();
    return true;
  });
  if (!done) fail(done.error());
}

void ShardWriter::fail(const Error& error) {
  if (failure_) return;
  failure_ = with_bytes(error, path_);
  store_.reset();  // rolls back what was not committed
  if (options_.on_failure) options_.on_failure(*failure_);
}

// Takes at most so many records of each ring, and says whether one may hold more.
bool ShardWriter::drain(std::size_t most) {
  bool more = false;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    std::size_t taken = 0;
    while (taken < most) {
      std::span<const RingRecord> waiting = lane->ring.waiting();
      if (waiting.empty()) break;
      waiting = waiting.first(std::min(waiting.size(), most - taken));
      lane->taken += static_cast<std::int64_t>(waiting.size());
      if (store_) append(*lane, waiting);
      lane->ring.release(waiting.size());
      taken += waiting.size();
    }
    more |= taken == most;
    const std::int64_t dropped = lane->ring.dropped();
    if ((taken > 0 || dropped != lane->dropped) && !uncommitted_since_ns_) uncommitted_since_ns_ = options_.now();
    if (store_ && dropped != lane->dropped) store_->events().count_dropped(lane->stream, dropped - lane->dropped);
    lane->dropped = dropped;
  }
  return more;
}

// Runs of one kind and one run go to the store together.
void ShardWriter::append(Lane& lane, std::span<const RingRecord> records) {
  for (std::size_t first = 0; first < records.size();) {
    const RingRecord& head = records[first];
    std::size_t last = first;
    spans_.clear(), collectives_.clear();
    for (; last < records.size() && records[last].run == head.run && records[last].is_collective == head.is_collective;
         ++last) {
      const RingRecord& record = records[last];
      SpanEvent span = record.span;
      if (span.begin_ns < lane.last_end_ns || span.end_ns < span.begin_ns) {
        span.begin_ns = std::max(span.begin_ns, lane.last_end_ns);
        span.end_ns = std::max(span.end_ns, span.begin_ns);
        span.flags |= kEventClamped;
        ++clamped_;
      }
      lane.last_end_ns = span.end_ns;
      if (head.is_collective == 0) {
        spans_.push_back(span);
        continue;
      }
      collectives_.push_back({span, span.begin_ns, std::clamp(record.transfer_begin_ns, span.begin_ns, span.end_ns),
                              span.end_ns, record.sequence, record.bytes, record.communicator, record.peer});
    }
    if (head.is_collective == 0)
      store_->events().append(head.run, lane.stream, spans_);
    else
      store_->events().append(head.run, lane.stream, collectives_);
    first = last;
  }
}

void ShardWriter::commit() {
  uncommitted_since_ns_.reset();
  if (!store_) return;
  store_->checkpoint();
  committed_.clear();
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    if (lane->committed == lane->taken) continue;
    lane->committed = lane->taken;
    committed_.push_back({lane->rank, lane->lane, lane->committed});
  }
  if (options_.on_commit && !committed_.empty()) options_.on_commit(committed_);
}

EventRing& ShardWriter::ring(int rank, int lane, std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Lane>& known : lanes_)
    if (known->rank == rank && known->lane == lane) return known->ring;
  StreamId stream = {};
  guarded([&] {
    if (store_) stream = store_->events().stream(rank, lane, 0);
  });
  lanes_.push_back(std::make_unique<Lane>(rank, lane, stream, capacity));
  return lanes_.back()->ring;
}

NameId ShardWriter::name(std::string_view text) {
  NameId id = 0;
  write([&](StoreWriter& store) { id = store.events().name(text); });
  return id;
}

CommunicatorId ShardWriter::communicator(int lane, std::span<const int> ranks) {
  CommunicatorId id = 0;
  write([&](StoreWriter& store) { id = store.events().communicator(lane, ranks); });
  return id;
}

void ShardWriter::write(const std::function<void(StoreWriter&)>& rows) {
  const std::lock_guard lock(mutex_);
  guarded([&] {
    if (store_) rows(*store_);
  });
  if (!uncommitted_since_ns_) uncommitted_since_ns_ = options_.now();
}

void ShardWriter::checkpoint() {
  const std::lock_guard lock(mutex_);
  guarded([&] {
    while (drain(kBurst)) continue;
    commit();
  });
}

void ShardWriter::finish() {
  stop();
  checkpoint();
  const std::lock_guard lock(mutex_);
  guarded([&] {
    if (store_) store_->finish();
    store_.reset();
  });
}

std::vector<ShardWriter::LaneCount> ShardWriter::counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<LaneCount> counts;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    const std::int64_t sent = lane->ring.sent();
    counts.push_back({lane->rank, lane->lane, sent, lane->committed, sent - lane->committed});
  }
  return counts;
}

std::int64_t ShardWriter::clamped() const {
  const std::lock_guard lock(mutex_);
  return clamped_;
}

std::optional<Error> ShardWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void close_log(const std::string& path) {
  if (file_bytes(path + "-wal") == 0) return;
  const auto ignored = capture([&] {
    Database::create_shard(path).execute("PRAGMA wal_checkpoint(TRUNCATE)");
    return true;
  });
  static_cast<void>(ignored);  // then the two files are the shard
}

}  // namespace spscope
