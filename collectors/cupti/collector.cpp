// The collector `cupti`: a session whose records become events of a sink.
#include "collectors/cupti/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "collectors/cuda_driver.h"
#include "collectors/cupti/trace.h"

namespace spscope::cupti {
namespace {

// So long work waits for what was recorded of its call, which is complete when the call returns: CUPTI is asked for
// that every 100 ms. Work itself may come later than this, when something in its buffer had not ended (FlushAll(0) then
// keeps the buffer), and is handed over when it comes. At 1 M records a second, each 0.1 s of it is 6 MB of events that
// are held.
constexpr std::int64_t kHoldNs = 150'000'000;

// After so many launches for ops without a record, nobody doubts that there should have been one: a few may have found
// nothing to do.
constexpr std::int64_t kManyInVain = 64;

class CuptiCollector final : public Collector {
 public:
  CuptiCollector(TraceSink& sink, const CollectedProcess& process, SessionOptions options)
      : trace_(sink, process),
        session_(with_settling(std::move(options), process), [this](const Record& record) { trace_.take(record); }) {}
  // The session's thread uses what else is here.
  ~CuptiCollector() override {
    static_cast<void>(failure_of([&] { stop(); }));
  }

  void stop() override {
    if (stopped_.exchange(true)) return;
    const std::optional<Error> failed = failure_of([&] { session_.stop(); });
    trace_.finish();
    report_missed();
    if (failed) throw Error(*failed);
  }

  void pause() noexcept override { session_.pause(); }
  void resume() noexcept override {
    const std::int64_t begin_ns = now_ns();
    session_.resume();
    resumed_ns_ = begin_ns;
  }

  void begin_launch(int rank, RunId run, OpId op) noexcept override {
    if (!stopped_.load(std::memory_order_relaxed)) session_.push_id(pushed_id({rank, run, op}));
  }
  void end_launch() noexcept override {
    if (!stopped_.load(std::memory_order_relaxed)) session_.pop_id();
  }

  CollectorCost cost() const override {
    const SessionLedger ledger = session_.ledger();
    CollectorCost cost;
    cost.thread_ns = session_.thread_ns();
    cost.callback_ns = session_.callback_ns();
    cost.memory_bytes = session_.buffer_bytes() + trace_.memory_bytes();
    const std::int64_t refused = trace_.num_refused();
    // Records of a buffer are left out before the ledger counts it.
    cost.records = std::max<std::int64_t>(0, ledger.stored() - refused - trace_.num_left_out());
    cost.dropped = ledger.dropped() + ledger.unreadable() + refused;
    return cost;
  }

  std::vector<std::string> notes() const override;

 private:
  SessionOptions with_settling(SessionOptions options, const CollectedProcess& process) {
    options.ids = is_of_plan(process);
    options.after_flush = [this] { settle(); };
    options.on_profiler_call = process.on_profiler_call;
    return options;
  }
  void settle() {
    if (const std::int64_t resumed_ns = resumed_ns_.exchange(0); resumed_ns != 0) trace_.end_ranges(resumed_ns);
    trace_.settle(now_ns() - kHoldNs);
    report_missed();
  }
  // On the session's thread, and after its end.
  void report_missed() {
    const SessionLedger ledger = session_.ledger();
    trace_.missed(ledger.dropped() - dropped_, ledger.unreadable() - unreadable_);
    dropped_ = ledger.dropped();
    unreadable_ = ledger.unreadable();
  }

  CuptiTrace trace_;
  std::int64_t dropped_ = 0, unreadable_ = 0;  // that the sink was told of
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> resumed_ns_{0};  // and open ranges of before are still to be ended; 0: none
  Session session_;
};

std::vector<std::string> CuptiCollector::notes() const {
  std::vector<std::string> notes = session_.notes();
  const SessionLedger ledger = session_.ledger();
  const auto missing = [&](std::int64_t count, std::string_view why) {
    if (count > 0) notes.push_back(fmt::format("{} of {} records are missing: {}", count, ledger.sent(), why));
  };
  missing(ledger.dropped_by_cupti,
          "CUPTI had no buffer for them; fewer kernels a second, or a core left free, give it time");
  missing(ledger.pool.dropped_records,
          "they were not decoded in time; leave a core free for the thread that does it, or run fewer repeats");
  missing(ledger.decoded.undated,
          "CUPTI gave them no times, since it had no device memory for them or the work had not ended; leave memory of "
          "the GPU free");
  missing(ledger.unreadable(),
          "they have a form that this version of spscope does not know; use a newer one, or a "
          "CUPTI of CUDA 11.7 to 13.4");
  missing(ledger.dropped_by_sink, "what they were to be written to had failed; its error says why");
  missing(trace_.num_refused(),
          "nobody took them out of the full buffer of their row; leave a core free for what writes the file");
  if (ledger.pool.refused > 0)
    notes.push_back(
        fmt::format("CUPTI asked for {} buffers more than it may have, and counts what it drops for them; leave a core "
                    "free for the thread that decodes records",
                    ledger.pool.refused));
  if (!stopped_) return notes;
  // Nobody is told when another client takes the buffers, but the buffers that were out then never come back.
  constexpr std::string_view kTakenOver =
      "another client of CUPTI may have taken its buffers over while recording, as torch.profiler does when it starts; "
      "run without it, or, when there was none, use the newest CUPTI of the CUDA that the program uses";
  if (const int out = session_.buffers_out(); out > 0)
    notes.push_back(
        fmt::format("CUPTI did not give back {} buffers when recording ended, and nobody knows how many records are in "
                    "them and after them; {}",
                    out, kTakenOver));
  else if (const std::int64_t in_vain = session_.pushed_in_vain(); in_vain >= kManyInVain)
    notes.push_back(fmt::format("CUPTI handed over nothing of the last {} launches; {}", in_vain, kTakenOver));
  return notes;
}

}  // namespace

std::unique_ptr<Collector> start(TraceSink& sink, const CollectedProcess& process, const SessionOptions& options) {
  return std::make_unique<CuptiCollector>(sink, process, options);
}

}  // namespace spscope::cupti

namespace spscope {

std::optional<std::string> cupti_cannot_collect() {
  // CUPTI comes with the toolkit, also to machines without a GPU.
  if (std::optional<std::string> missing = missing_cuda_driver()) return missing;
  const std::optional<Error> failed = failure_of([] {
    cupti::LibrarySearch search(cupti::library_candidates(""));
    std::optional<Error> first;
    while (const std::optional<cupti::Library> library = search.next()) {
      const cupti::RecordSizes sizes = cupti::ask_record_sizes(*library);
      if (!sizes.known() || sizes.readable(cupti::Kind::kKernel)) return;
      if (!first) first = cupti::unknown_kernels(*library, sizes);
    }
    throw first ? Error(*first) : search.none();
  });
  if (!failed) return std::nullopt;
  // What the loader says of each name that it tried is in the Error of start_cupti().
  std::string why = failed->what();
  why.resize(std::min(why.find(":\n"), why.size()));
  return failed->hint().empty() ? why : fmt::format("{}; {}", why, failed->hint());
}

std::unique_ptr<Collector> start_cupti(TraceSink& sink, const CollectedProcess& process) {
  return cupti::start(sink, process, {});
}

}  // namespace spscope
