#include "backend/collect/shard_writer.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <new>

#include "backend/base/check.h"
#include "backend/base/errno_remedy.h"
#include "backend/base/result.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {
namespace {

constexpr std::chrono::milliseconds kShortestNap{2}, kLongestNap{500};  // when all rings are empty
constexpr std::int64_t kNotDue = std::numeric_limits<std::int64_t>::max();
// Records taken from a ring before the next one has its turn, and before the clock is looked at.
constexpr std::size_t kBurst = 16 * 1024;

std::int64_t file_bytes(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.st_size) : 0;
}

// "...; the shard holds 4096 bytes and 0 are free there".
Error with_bytes(const Error& error, const std::string& path) {
  const bool is_memory = std::string_view(error.what()) == std::bad_alloc().what();  // capture() keeps its text alone
  struct statvfs room;
  const std::int64_t free_bytes = ::statvfs(path.c_str(), &room) == 0 ? static_cast<std::int64_t>(room.f_bavail) *
                                                                            static_cast<std::int64_t>(room.f_frsize)
                                                                      : 0;
  return Error(error.code(),
               fmt::format("{}; the shard \"{}\" holds {} bytes and {} are free there", error.what(), path,
                           file_bytes(path) + file_bytes(path + "-wal"), free_bytes),
               is_memory ? remedy_of(ENOMEM) : error.hint());
}

}  // namespace

// A track that events come from.
struct ShardWriter::Source {
  explicit Source(Track of) : track(std::move(of)) {}
  const Track track;
  std::unique_ptr<EventRing> ring;  // absent: nobody asked for it, and records are known to be missed
  std::int64_t missed_dropped = 0, missed_unreadable = 0;
  std::int64_t taken = 0, committed = 0;                                  // events of the kind of the track
  std::int64_t told = 0;                                                  // of others, in the ledger
  std::int64_t dropped = 0;                                               // of the ring, as far as the store knows
  std::int64_t next_begin_ns = std::numeric_limits<std::int64_t>::min();  // at the earliest
};

ShardWriter::ShardWriter(const std::string& path, ShardWriterOptions options)
    : path_(path), options_(std::move(options)), store_(StoreWriter::shard(path_, options_.shard, options_.write)) {
  if (const std::optional<Error> failed = failure_of([&] { thread_ = std::thread([this] { run(); }); }))
    throw Error(ErrorCode::kStoreWrite,
                fmt::format("no thread could be started to write \"{}\": {}", path_, failed->what()),
                "raise the limit of processes (ulimit -u)");
}

ShardWriter::~ShardWriter() { stop(); }

void ShardWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  sleep_.wake();
  if (thread_.joinable()) thread_.join();
}

void ShardWriter::run() {
  ::pthread_setname_np(::pthread_self(), kShardWriterThread);
  for (ReaderNaps naps(sleep_, kShortestNap, options_.sleeps ? kLongestNap : kShortestNap);;) {
    naps.begin();
    Drained drained;
    std::int64_t due_in_ns = kNotDue;
    {
      const std::lock_guard lock(mutex_);  // others get it between two rounds
      if (stopping_) return;
      guarded([&] {
        drained = drain(kBurst);
        due_in_ns = commit_when_due();
      });
    }
    if (drained.any) naps.found();
    if (!drained.more) naps.wait(std::chrono::nanoseconds(due_in_ns));
  }
}

// In how many nanoseconds it is due; kNotDue: there is nothing to commit.
std::int64_t ShardWriter::commit_when_due() {
  if (!uncommitted_since_ns_) return kNotDue;
  const std::int64_t now = options_.now();
  // A clock that went back must not put the commit off.
  uncommitted_since_ns_ = std::min(*uncommitted_since_ns_, now);
  const std::int64_t due_in_ns = *uncommitted_since_ns_ + options_.commit_every_ns - now;
  if (due_in_ns > 0) return due_in_ns;
  commit();
  return kNotDue;
}

// Runs a step that writes; its failure is the end of writing.
void ShardWriter::guarded(const std::function<void()>& step) {
  if (const std::optional<Error> failure = failure_of(step)) fail(*failure);
}

void ShardWriter::fail(const Error& error) {
  if (failure_) return;
  failure_ = with_bytes(error, path_);
  store_.reset();  // rolls back what was not committed
  if (options_.on_failure) options_.on_failure(*failure_);
}

// Takes at most so many records of each ring.
ShardWriter::Drained ShardWriter::drain(std::size_t most) {
  Drained drained;
  for (const std::unique_ptr<Source>& source : sources_) {
    if (source->ring == nullptr) continue;
    EventRing& ring = *source->ring;
    std::size_t taken = 0;
    while (taken < most) {
      std::span<const RingRecord> waiting = ring.waiting();
      if (waiting.empty()) break;
      waiting = waiting.first(std::min(waiting.size(), most - taken));
      if (store_) append(*source, waiting);
      ring.release(waiting.size());
      taken += waiting.size();
    }
    drained.any |= taken > 0;
    drained.more |= taken == most;
    const std::int64_t dropped = ring.dropped();
    if ((taken > 0 || dropped != source->dropped) && !uncommitted_since_ns_) uncommitted_since_ns_ = options_.now();
    if (store_ && dropped != source->dropped)
      store_->events().count_dropped(source->track.track_id, dropped - source->dropped);
    source->dropped = dropped;
  }
  return drained;
}

// What follows one another and is of one kind and one run goes to the store together. Records of a kind that the track
// does not take, a mistake of the collector, are dropped.
void ShardWriter::append(Source& source, std::span<const RingRecord> records) {
  const TrackId track = source.track.track_id;
  const bool takes_samples = source.track.kind == TrackKind::kCounter;
  EventWriter& events = store_->events();
  for (std::size_t first = 0; first < records.size();) {
    const RingRecord& head = records[first];
    std::size_t last = first;
    while (last < records.size() && records[last].run == head.run && records[last].kind == head.kind) ++last;
    const std::span<const RingRecord> group = records.subspan(first, last - first);
    first = last;
    if (takes_samples != (head.kind == RingKind::kCounter)) {
      events.count_dropped(track, std::ssize(group));
      continue;
    }
    source.taken += std::ssize(group);
    spans_.clear(), collectives_.clear(), samples_.clear(), work_.clear();
    for (const RingRecord& record : group) {
      SpanEvent span = record.span;
      const bool is_early = span.begin_ns < source.next_begin_ns && !source.track.overlapping;
      if (is_early || span.end_ns < span.begin_ns) {
        if (is_early) span.begin_ns = source.next_begin_ns;
        span.end_ns = std::max(span.end_ns, span.begin_ns);
        span.flags |= kEventClamped;
        ++clamped_;
      }
      source.next_begin_ns = next_begin_ns(span);
      if (head.kind == RingKind::kSpan)
        spans_.push_back(span);
      else if (head.kind == RingKind::kCounter)
        samples_.push_back({span.begin_ns, record.counter().value});
      else if (head.kind == RingKind::kWork)
        work_.push_back(record.work()), work_.back().span = span;
      else
        collectives_.push_back({span, span.begin_ns, std::clamp(record.transfer_begin_ns, span.begin_ns, span.end_ns),
                                span.end_ns, record.sequence, record.bytes, record.communicator, record.peer});
    }
    if (head.kind == RingKind::kSpan)
      events.append(head.run, track, spans_);
    else if (head.kind == RingKind::kCounter)
      events.append(head.run, track, samples_);
    else if (head.kind == RingKind::kWork)
      events.append(head.run, track, work_);
    else
      events.append(head.run, track, collectives_);
  }
}

void ShardWriter::commit() {
  uncommitted_since_ns_.reset();
  if (!store_) return;
  store_->checkpoint();
  committed_.clear();
  for (const std::unique_ptr<Source>& source : sources_) {
    source->told = source->dropped + source->missed_dropped + source->missed_unreadable;
    if (source->committed == source->taken) continue;
    source->committed = source->taken;
    committed_.push_back({&source->track, source->committed});
  }
  if (options_.on_commit && !committed_.empty()) options_.on_commit(committed_);
}

ShardWriter::Source& ShardWriter::source(const Track& track) {
  if (track.kind == TrackKind::kRankLane && !(track.rank && track.lane))
    throw Error(ErrorCode::kInternal, "a track of the kind rank lane needs a rank and a lane");
  if (track.kind != TrackKind::kRankLane && track.lane)
    throw Error(ErrorCode::kInternal, fmt::format("a track of the kind {} has no lane", track_kind_name(track.kind)));
  Track made = track;
  for (const std::unique_ptr<Source>& known : sources_) {
    made.track_id = known->track.track_id;
    if (made == known->track) return *known;
  }
  made.track_id = {};
  guarded([&] {
    if (store_) made.track_id = store_->events().add_track(track);
  });
  sources_.push_back(std::make_unique<Source>(std::move(made)));
  return *sources_.back();
}

EventRing& ShardWriter::ring(const Track& track, std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<EventRing>& ring = source(track).ring;
  if (ring == nullptr) ring = std::make_unique<EventRing>(capacity, options_.sleeps ? &sleep_ : nullptr);
  return *ring;
}

void ShardWriter::missed(const Track& track, std::int64_t dropped, std::int64_t unreadable) {
  if (dropped == 0 && unreadable == 0) return;
  const std::lock_guard lock(mutex_);
  Source& source = this->source(track);
  source.missed_dropped += dropped;
  source.missed_unreadable += unreadable;
  begin_to_commit();
  if (!store_) return;
  store_->events().count_dropped(source.track.track_id, dropped);
  store_->events().count_unreadable(source.track.track_id, unreadable);
}

void ShardWriter::set_clock(const ClockFit& fit) {
  write([&](StoreWriter& store) { store.add_rank_clock({kNoRank, fit}); });
}

NameId ShardWriter::name(std::string_view text) {
  NameId id = 0;
  write([&](StoreWriter& store) { id = store.events().name(text); });
  return id;
}

WorkDetailId ShardWriter::detail(const WorkDetail& what) {
  WorkDetailId id = 0;
  write([&](StoreWriter& store) { id = store.events().detail(what); });
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
  begin_to_commit();
}

void ShardWriter::begin_to_commit() {
  if (!uncommitted_since_ns_) uncommitted_since_ns_ = options_.now();
  sleep_.wake_from_sleep();
}

void ShardWriter::checkpoint() {
  const std::lock_guard lock(mutex_);
  guarded([&] {
    while (drain(kBurst).more) continue;
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

std::vector<ShardWriter::TrackCount> ShardWriter::counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<TrackCount> counts;
  for (const std::unique_ptr<Source>& source : sources_) {
    const std::int64_t pushed = source->ring != nullptr ? source->ring->sent() : 0;
    const std::int64_t sent = pushed + source->missed_dropped + source->missed_unreadable;
    counts.push_back({source->track, sent, source->committed, pushed - source->committed + source->missed_dropped,
                      source->missed_unreadable, failure_ ? sent - source->committed - source->told : 0});
  }
  return counts;
}

std::int64_t ShardWriter::untold() const {
  std::int64_t untold = 0;
  for (const TrackCount& count : counts()) untold += count.untold;
  return untold;
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
  // When that fails, the two files are the shard.
  static_cast<void>(failure_of([&] { Database::create_shard(path).execute("PRAGMA wal_checkpoint(TRUNCATE)"); }));
}

}  // namespace spscope
