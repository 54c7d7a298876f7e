#include "collectors/cupti/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "collectors/cupti/api_calls.h"
#include "collectors/cupti/callbacks.h"
#include "collectors/cupti/nvtx.h"
#include "collectors/cupti/op_ids.h"

namespace spscope::cupti {
namespace {

constexpr const char* kName = "spscope";
// CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, from 12.4.
constexpr std::uint32_t kBufferForEachThread = 9;
constexpr std::uint32_t kForced = 1;  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: buffers with unfinished records, too

constexpr std::uint32_t kSystemThreadIds = 1;  // CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM

// CUPTI wants a subscriber. We want no callbacks, which would run in every call of the program, but for these two.
constexpr std::uint32_t kDriverCalls = 1;  // CUPTI_CB_DOMAIN_DRIVER_API; the runtime calls the driver for both
constexpr std::uint32_t kProfilerStart = 308, kProfilerStop = 309;
constexpr std::uint32_t kBeforeCall = 0, kAfterCall = 1;

// All that is asked for after the start, and before the stop, is in the range.
void called_back(void* user, std::uint32_t, std::uint32_t id, const void* data) {
  const std::uint32_t site = static_cast<const CallbackLayout*>(data)->site;
  const auto& tell = *static_cast<const std::function<void(bool)>*>(user);
  if (id == kProfilerStart && site == kAfterCall) tell(true);
  if (id == kProfilerStop && site == kBeforeCall) tell(false);
}

// NVTX, which is a part of the program, loads whatever this names when the program first uses it, and nothing else.
bool has_nvtx_injection() {
  const char* const path = std::getenv("NVTX_INJECTION64_PATH");
  return path != nullptr && *path != '\0';
}

Error no_nvtx_injection() {
  return Error(ErrorCode::kCannotCollect, "NVTX_INJECTION64_PATH, which attach sets and NVTX goes by, is not set",
               "see that what starts the program passes it on, as it does CUDA_INJECTION64_PATH");
}

}  // namespace

Session::Session(const SessionOptions& options, RecordSink sink) : options_(options), sink_(std::move(sink)) {
  start_with_any_library();
}

// What a library throws that another one may mend, for example because the driver is too old for it, lets the next one
// try.
void Session::start_with_any_library() {
  LibrarySearch search(library_candidates(options_.library));
  std::optional<Error> first;
  while (const std::optional<Library> library = search.next()) {
    library_ = *library;
    notes_.clear();
    const std::optional<Error> failed = failure_of([&] {
      subscribe();
      start();
    });
    if (!failed) return begin_nvtx();
    end();
    const bool is_last = !another_library_may_do(result_);
    if (!first || is_last) first = failed;
    if (is_last) break;
  }
  nvtx_is_not_recorded();
  throw first ? Error(*first) : search.none();
}

void Session::begin_nvtx() {
  records_nvtx_ = std::ranges::find(enabled_, Kind::kMarker) != enabled_.end();
  if (!records_nvtx_) return nvtx_is_not_recorded();
  nvtx_is_recorded_by(library_);
}

Session::~Session() { end(); }

void Session::subscribe() {
  std::array<char, 64> other = {};  // as long as CUPTI's names are
  SubscriberParameters parameters = {.name = kName, .other_name = other.data(), .other_name_bytes = other.size()};
  const Calls& calls = library_.calls;
  auto* const user = const_cast<std::function<void(bool)>*>(&options_.on_profiler_call);
  const int result = calls.cuptiSubscribe_v2 != nullptr
                         ? calls.cuptiSubscribe_v2(&subscriber_, called_back, user, &parameters)
                         : calls.cuptiSubscribe(&subscriber_, called_back, user);
  if (result == kSuccess) return;
  subscriber_ = nullptr;
  result_ = result;
  other.back() = '\0';
  throw failure(library_, "cuptiSubscribe", result, result == kMultipleSubscribers ? other.data() : "");
}

void Session::require(const char* call, int result) {
  if (result == kSuccess) return;
  result_ = result;
  throw failure(library_, call, result);
}

void Session::note(std::string_view what, const Error& error) {
  const std::lock_guard lock(mutex_);
  notes_.push_back(note_of(what, error));
}

// The order is CUPTI's: attributes before callbacks, the clock before any kind.
void Session::start() {
  const Calls& calls = library_.calls;
  result_ = kSuccess;
  stopping_ = false;
  pool_ = nullptr;
  sizes_ = ask_record_sizes(library_);
  if (sizes_.known() && !sizes_.readable(Kind::kKernel)) throw unknown_kernels(library_, sizes_);
  if (!sizes_.known() && options_.ids) throw silent(library_);
  pool_ = &use_new_pool(options_.pool, sizes_);
  // A buffer for each thread, as CUPTI 13 has it, would be 1 MiB for each. Older ones have no such attribute.
  std::uint8_t off = 0;
  std::size_t num_bytes = sizeof off;
  (void)calls.cuptiActivitySetAttribute(kBufferForEachThread, &num_bytes, &off);
  // Threads by the numbers that the system and its tools give them.
  if (calls.cuptiSetThreadIdType != nullptr) (void)calls.cuptiSetThreadIdType(kSystemThreadIds);
  require("cuptiActivityRegisterTimestampCallback", calls.cuptiActivityRegisterTimestampCallback(raw_clock));
  require("cuptiActivityRegisterCallbacks", calls.cuptiActivityRegisterCallbacks(request_buffer, complete_buffer));
  // CUPTI's own thread then fetches records from GPUs as often; it hands over only full buffers.
  if (const int result = calls.cuptiActivityFlushPeriod(static_cast<std::uint32_t>(options_.flush_every.count()));
      result != kSuccess)
    note("", failure(library_, "cuptiActivityFlushPeriod", result));
  enable_all();
  if (options_.on_profiler_call) watch_profiler_calls();
  decoder_ = std::thread([this] { decode_until_drained(); });
}

void Session::enable_all() {
  // Ids first, so that no kernel lacks the id of its op.
  enable(Kind::kExternalCorrelation, "ids of ops");
  enable_calls();
  enable(Kind::kCopy, "copies");
  enable(Kind::kPeerCopy, "copies between GPUs");
  enable(Kind::kMemset, "memsets");
  enable(Kind::kSynchronization, "synchronisation");
  enable(Kind::kOverhead, "overhead");
  if (options_.markers && enable(Kind::kMarker, "NVTX ranges") && !options_.ids && !has_nvtx_injection())
    note("NVTX ranges", no_nvtx_injection());
  require("cuptiActivityEnable of kernels",
          library_.calls.cuptiActivityEnable(static_cast<std::uint32_t>(Kind::kKernel)));
  enabled_.push_back(Kind::kKernel);
}

void Session::watch_profiler_calls() {
  for (const std::uint32_t id : {kProfilerStart, kProfilerStop})
    require("cuptiEnableCallback", library_.calls.cuptiEnableCallback(1, subscriber_, kDriverCalls, id));
}

void Session::pause() noexcept {
  for (const Kind kind : enabled_) library_.calls.cuptiActivityDisable(static_cast<std::uint32_t>(kind));
}

void Session::resume() noexcept {
  for (const Kind kind : enabled_) {
    const int result = library_.calls.cuptiActivityEnable(static_cast<std::uint32_t>(kind));
    if (result == kSuccess) continue;
    static_cast<void>(failure_of([&] {
      note(fmt::format("records of kind {}", static_cast<std::uint32_t>(kind)),
           failure(library_, "cuptiActivityEnable", result));
    }));
  }
}

// A library that does not tell sizes yet, in a program that is no run of a plan, is asked again later (learn_sizes).
bool Session::enable(Kind kind, const char* what) {
  const auto number = static_cast<std::uint32_t>(kind);
  if (sizes_.known() && !sizes_.readable(kind)) {
    note(what, Error(ErrorCode::kCannotCollect,
                     fmt::format("{} writes records of {} bytes, which this version of spscope does not know",
                                 library_.path, sizes_.of(number)),
                     "use a newer version of spscope, or a CUPTI of CUDA 11.7 to 13.4"));
    return false;
  }
  if (const int result = library_.calls.cuptiActivityEnable(number); result != kSuccess) {
    note(what, failure(library_, "cuptiActivityEnable", result));
    return false;
  }
  enabled_.push_back(kind);
  return true;
}

// Chosen calls are recorded only by a CUPTI that was asked before the process made its first context, and only in its
// first session (13.0 on an H100, 580.159.04); it says nothing when it is too late. A run of a plan has contexts by
// then.
void Session::enable_calls() {
  const Calls& calls = library_.calls;
  if (options_.ids) {
    enable(Kind::kDriverApi, "calls of the driver, without which no work has an op");
    return;
  }
  if (calls.cuptiActivityEnableRuntimeApi == nullptr || calls.cuptiActivityEnableDriverApi == nullptr) {
    note("calls on the host", Error(ErrorCode::kCannotCollect, "this CUPTI cannot record chosen ones alone",
                                    "use CUPTI of CUDA 12.8 or newer"));
    return;
  }
  constexpr std::uint32_t kVersion13 = 130000;
  const bool is_13 = library_.version >= kVersion13 || library_.version == 0;
  for (const ApiCall& call : kApiCalls) {
    const auto choose =
        call.domain == Kind::kDriverApi ? calls.cuptiActivityEnableDriverApi : calls.cuptiActivityEnableRuntimeApi;
    if ((call.of_13 && !is_13) || (sizes_.known() && !sizes_.readable(call.domain))) continue;
    if (const int result = choose(call.id, 1); result != kSuccess)
      note(call.name, failure(library_, "enabling it", result));
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
  if (std::exchange(records_nvtx_, false)) nvtx_is_not_recorded();
  const Calls& calls = library_.calls;
  for (const auto& [domain, id] : enabled_calls_)
    (domain == Kind::kDriverApi ? calls.cuptiActivityEnableDriverApi : calls.cuptiActivityEnableRuntimeApi)(id, 0);
  for (const Kind kind : enabled_) calls.cuptiActivityDisable(static_cast<std::uint32_t>(kind));
  enabled_calls_.clear();
  enabled_.clear();
  if (pool_ != nullptr) {
    const std::lock_guard lock(flush_mutex_);
    stopping_ = true;
    calls.cuptiActivityFlushPeriod(0);
    calls.cuptiActivityFlushAll(kForced);
    count_dropped();
  }
  calls.cuptiUnsubscribe(subscriber_);
  subscriber_ = nullptr;
  if (pool_ != nullptr) pool_->close();
  if (decoder_.joinable()) return decoder_.join();
  if (pool_ == nullptr) return;
  while (const std::optional<FilledBuffer> unread = pool_->next(std::chrono::milliseconds(0))) pool_->release(*unread);
}

void Session::decode_until_drained() {
  const std::int64_t period_ns = std::chrono::nanoseconds(options_.flush_every).count();
  std::int64_t flushed_ns = now_ns();
  for (;;) {
    if (const std::optional<FilledBuffer> buffer = pool_->next(options_.flush_every)) {
      pushed_by_last_buffer_ = num_pushed_.load();
      if (!sizes_.known()) learn_sizes();
      decode(*buffer);
      pool_->release(*buffer);
      count_dropped();
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

// CUPTI 13.4 answers only where there is a driver, and a session may begin while the driver does, as under attach: when
// there are records it is at work.
void Session::learn_sizes() {
  sizes_ = ask_record_sizes(library_);
  pool_->set_sizes(sizes_);
  if (sizes_.known() && sizes_.readable(Kind::kKernel)) return;
  if (std::exchange(told_of_sizes_, true)) return;
  note("records", sizes_.known() ? unknown_kernels(library_, sizes_) : silent(library_));
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

// One call in 64 of the program's threads.
class Session::Measured {
 public:
  Measured(Session& session, std::uint32_t number) : session_(session) {
    if (number % kMeasureOne == 0) begin_ns_ = now_ns();
  }
  ~Measured() {
    if (begin_ns_ != 0) session_.callback_ns_.fetch_add(now_ns() - begin_ns_, std::memory_order_relaxed);
  }
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

 private:
  Session& session_;
  std::int64_t begin_ns_ = 0;  // 0: not measured
};

void Session::push_id(std::uint64_t id) noexcept {
  const Measured measured(*this, num_pushed_.fetch_add(1, std::memory_order_relaxed));
  const int result = library_.calls.cuptiActivityPushExternalCorrelationId(kOurIds, id);
  int none = kSuccess;
  if (result != kSuccess) push_result_.compare_exchange_strong(none, result);
}

void Session::pop_id() noexcept {
  const Measured measured(*this, num_pushed_.load(std::memory_order_relaxed));
  std::uint64_t id = 0;
  (void)library_.calls.cuptiActivityPopExternalCorrelationId(kOurIds, &id);
}

std::vector<SessionNote> Session::notes() const {
  std::unique_lock lock(mutex_);
  std::vector<SessionNote> notes = notes_;
  lock.unlock();
  std::ranges::copy(nvtx_notes(), std::back_inserter(notes));
  if (const int result = push_result_; result != kSuccess)
    notes.push_back(note_of("ops of kernels", failure(library_, "cuptiActivityPushExternalCorrelationId", result)));
  return notes;
}

std::int64_t Session::pushed_in_vain() const { return num_pushed_ - pushed_by_last_buffer_; }

std::int64_t Session::buffer_bytes() const { return pool_ == nullptr ? 0 : pool_->most_bytes(); }

int Session::buffers_out() const { return pool_ == nullptr ? 0 : pool_->num_out(); }

void Session::count_dropped() {
  std::size_t dropped = 0;
  if (library_.calls.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) != kSuccess) return;
  const std::lock_guard lock(mutex_);
  ledger_.dropped_by_cupti += static_cast<std::int64_t>(dropped);
}

SessionLedger Session::ledger() const {
  std::unique_lock lock(mutex_);
  SessionLedger ledger = ledger_;
  lock.unlock();
  if (pool_ != nullptr) ledger.pool = pool_->counts();
  return ledger;
}

}  // namespace spscope::cupti
