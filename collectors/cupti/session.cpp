#include "collectors/cupti/session.h"

#include <fmt/format.h>

#include <array>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "collectors/cupti/api_calls.h"
#include "collectors/cupti/callbacks.h"
#include "collectors/cupti/op_ids.h"

namespace spscope::cupti {
namespace {

constexpr const char* kName = "spscope";
// CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, from 12.4.
constexpr std::uint32_t kBufferForEachThread = 9;
constexpr std::uint32_t kForced = 1;  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: buffers with unfinished records, too

constexpr std::uint32_t kSystemThreadIds = 1;  // CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM

// CUPTI wants a subscriber, and we want none of its callbacks: they would run in every call of the program.
void ignore(void*, std::uint32_t, std::uint32_t, const void*) {}

}  // namespace

std::int64_t SessionLedger::dropped() const {
  std::int64_t sum = dropped_by_sink + decoded.undated + pool.dropped_records;
  for (const auto& [queue, count] : dropped_by_cupti) sum += count;
  return sum;
}

Session::Session(const SessionOptions& options, RecordSink sink)
    : options_(options), sink_(std::move(sink)), library_(open_library(options.library)) {
  subscribe();
  const std::optional<Error> failed = failure_of([&] { start(); });
  if (!failed) return;
  end();
  throw Error(*failed);
}

Session::~Session() { end(); }

void Session::subscribe() {
  std::array<char, 64> other = {};  // as long as CUPTI's names are
  SubscriberParameters parameters = {.name = kName, .other_name = other.data(), .other_name_bytes = other.size()};
  const Calls& calls = library_.calls;
  const int result = calls.cuptiSubscribe_v2 != nullptr
                         ? calls.cuptiSubscribe_v2(&subscriber_, ignore, nullptr, &parameters)
                         : calls.cuptiSubscribe(&subscriber_, ignore, nullptr);
  if (result == kSuccess) return;
  subscriber_ = nullptr;
  other.back() = '\0';
  throw failure(library_, "cuptiSubscribe", result, result == kMultipleSubscribers ? other.data() : "");
}

// The order is CUPTI's: attributes before callbacks, the clock before any kind.
void Session::start() {
  const Calls& calls = library_.calls;
  sizes_ = ask_record_sizes(library_);
  pool_ = &use_new_pool(options_.pool, sizes_);
  // A buffer for each thread, as CUPTI 13 has it, would be 8 MiB for each. Older ones have no such attribute.
  std::uint8_t off = 0;
  std::size_t num_bytes = sizeof off;
  (void)calls.cuptiActivitySetAttribute(kBufferForEachThread, &num_bytes, &off);
  // Threads by the numbers that the system and its tools give them.
  if (calls.cuptiSetThreadIdType != nullptr) (void)calls.cuptiSetThreadIdType(kSystemThreadIds);
  check(library_, "cuptiActivityRegisterTimestampCallback", calls.cuptiActivityRegisterTimestampCallback(raw_clock));
  check(library_, "cuptiActivityRegisterCallbacks",
        calls.cuptiActivityRegisterCallbacks(request_buffer, complete_buffer));
  decoder_ = std::thread([this] { decode_until_drained(); });
  // CUPTI's own thread then fetches records from GPUs as often; it hands over only full buffers.
  if (const int result = calls.cuptiActivityFlushPeriod(static_cast<std::uint32_t>(options_.flush_every.count()));
      result != kSuccess)
    notes_.push_back(failure(library_, "cuptiActivityFlushPeriod", result).what());
  enable_all(options_.markers);
}

void Session::enable_all(bool markers) {
  if (!sizes_.readable(Kind::kKernel))
    throw Error(
        ErrorCode::kCannotCollect,
        fmt::format("{} (API version {}) writes kernels as {} bytes, a record that this version of spscope does "
                    "not know",
                    library_.path, library_.version, sizes_.of(static_cast<std::uint32_t>(Kind::kKernel))),
        "use a newer version of spscope, or a CUPTI of CUDA 11.7 to 13.4");
  // Ids first, so that no kernel lacks the id of its op.
  enable(Kind::kExternalCorrelation, "ids of ops");
  enable_calls();
  enable(Kind::kCopy, "copies");
  enable(Kind::kPeerCopy, "copies between GPUs");
  enable(Kind::kMemset, "memsets");
  enable(Kind::kSynchronization, "synchronisation");
  enable(Kind::kOverhead, "overhead");
  if (markers) enable(Kind::kMarker, "NVTX markers");
  check(library_, "cuptiActivityEnable of kernels",
        library_.calls.cuptiActivityEnable(static_cast<std::uint32_t>(Kind::kKernel)));
  enabled_.push_back(Kind::kKernel);
}

bool Session::enable(Kind kind, const char* what) {
  const auto number = static_cast<std::uint32_t>(kind);
  if (!sizes_.readable(kind)) {
    notes_.push_back(fmt::format("{}: {} writes records of {} bytes, which this version of spscope does not know", what,
                                 library_.path, sizes_.of(number)));
    return false;
  }
  if (const int result = library_.calls.cuptiActivityEnable(number); result != kSuccess) {
    notes_.push_back(fmt::format("{}: {}", what, failure(library_, "cuptiActivityEnable", result).what()));
    return false;
  }
  enabled_.push_back(kind);
  return true;
}

void Session::enable_calls() {
  const Calls& calls = library_.calls;
  if (calls.cuptiActivityEnableRuntimeApi == nullptr || calls.cuptiActivityEnableDriverApi == nullptr) {
    notes_.push_back("calls on the host: this CUPTI cannot record chosen ones alone; 12.8 and later can");
    return;
  }
  for (const ApiCall& call : kApiCalls) {
    const auto choose =
        call.domain == Kind::kDriverApi ? calls.cuptiActivityEnableDriverApi : calls.cuptiActivityEnableRuntimeApi;
    if (!sizes_.readable(call.domain)) continue;
    if (const int result = choose(call.id, 1); result != kSuccess)
      notes_.push_back(fmt::format("{}: {}", call.name, failure(library_, "enabling it", result).what()));
    else
      enabled_calls_.emplace_back(call.domain, call.id);
  }
}

void Session::stop() {
  end();
  if (sink_failure_) throw Error(*sink_failure_);
}

// In this order nothing is lost: no new records; all buffers come back and are queued; only then is the queue closed.
void Session::end() noexcept {
  if (subscriber_ == nullptr) return;
  const Calls& calls = library_.calls;
  for (const auto& [domain, id] : enabled_calls_)
    (domain == Kind::kDriverApi ? calls.cuptiActivityEnableDriverApi : calls.cuptiActivityEnableRuntimeApi)(id, 0);
  for (const Kind kind : enabled_) calls.cuptiActivityDisable(static_cast<std::uint32_t>(kind));
  if (decoder_.joinable()) {
    const std::lock_guard lock(flush_mutex_);
    stopping_ = true;
    calls.cuptiActivityFlushPeriod(0);
    calls.cuptiActivityFlushAll(kForced);
    count_dropped(nullptr, 0);
  }
  calls.cuptiUnsubscribe(subscriber_);
  subscriber_ = nullptr;
  if (pool_ != nullptr) pool_->close();
  if (decoder_.joinable()) decoder_.join();
}

void Session::decode_until_drained() {
  const std::int64_t period_ns = std::chrono::nanoseconds(options_.flush_every).count();
  std::int64_t flushed_ns = now_ns();
  for (;;) {
    if (const std::optional<FilledBuffer> buffer = pool_->next(options_.flush_every)) {
      decode(*buffer);
      pool_->release(*buffer);
      count_dropped(buffer->context, buffer->stream);
    } else if (pool_->drained()) {
      thread_ns_ = thread_cpu_ns();
      return;
    }
    // Buffers that are not full come only when they are asked for.
    if (now_ns() - flushed_ns < period_ns) continue;
    {
      const std::lock_guard lock(flush_mutex_);
      if (stopping_) continue;
      library_.calls.cuptiActivityFlushAll(0);
    }
    flushed_ns = now_ns();
    if (options_.after_flush) guarded(options_.after_flush);
    thread_ns_ = thread_cpu_ns();
  }
}

void Session::decode(const FilledBuffer& buffer) {
  std::optional<Error> failed = sink_failure_;  // written by this thread alone
  std::int64_t refused = 0;
  const DecodeCounts counts = decode_records(buffer.valid, sizes_, [&](const Record& record) {
    if (!failed) failed = failure_of([&] { sink_(record); });
    refused += failed.has_value();
  });
  const std::lock_guard lock(mutex_);
  ledger_.decoded += counts;
  ledger_.dropped_by_sink += refused;
  sink_failure_ = failed;
}

// A step of the sink's, on its thread: once it has failed there are no more.
void Session::guarded(const std::function<void()>& step) {
  if (sink_failure_) return;
  const std::optional<Error> failed = failure_of(step);
  const std::lock_guard lock(mutex_);
  sink_failure_ = failed;
}

void Session::push_id(std::uint64_t id) noexcept {
  const int result = library_.calls.cuptiActivityPushExternalCorrelationId(kOurIds, id);
  int none = kSuccess;
  if (result != kSuccess) push_result_.compare_exchange_strong(none, result);
}

void Session::pop_id() noexcept {
  std::uint64_t id = 0;
  (void)library_.calls.cuptiActivityPopExternalCorrelationId(kOurIds, &id);
}

std::vector<SessionNote> Session::notes() const {
  std::vector<SessionNote> notes = notes_;
  if (const int result = push_result_; result != kSuccess)
    notes.push_back(
        fmt::format("ops of kernels: {}", failure(library_, "cuptiActivityPushExternalCorrelationId", result).what()));
  return notes;
}

std::int64_t Session::buffer_bytes() const { return pool_ == nullptr ? 0 : pool_->most_bytes(); }

int Session::buffers_out() const { return pool_ == nullptr ? 0 : pool_->num_out(); }

void Session::count_dropped(void* context, std::uint32_t stream) {
  std::size_t dropped = 0;
  if (library_.calls.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) != kSuccess || dropped == 0) return;
  const std::lock_guard lock(mutex_);
  ledger_.dropped_by_cupti[{context, stream}] += static_cast<std::int64_t>(dropped);
}

SessionLedger Session::ledger() const {
  std::unique_lock lock(mutex_);
  SessionLedger ledger = ledger_;
  lock.unlock();
  if (pool_ != nullptr) ledger.pool = pool_->counts();
  return ledger;
}

}  // namespace spscope::cupti
