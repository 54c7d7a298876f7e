#include "collectors/cupti/trace.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>

#include "collectors/cuda_driver.h"
#include "collectors/cupti/api_calls.h"
#include "collectors/known_numbers.h"

namespace spscope::cupti {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kInstant = 1, kRangeEnd = 4;  // CUPTI_ACTIVITY_FLAG_MARKER_*

// Names of kinds by CUPTI's numbers.
constexpr std::array kCopyNames = {"memcpy",      "memcpy HtoD", "memcpy DtoH", "memcpy HtoA",
                                   "memcpy AtoH", "memcpy AtoA", "memcpy AtoD", "memcpy DtoA",
                                   "memcpy DtoD", "memcpy HtoH", "memcpy PtoP"};
constexpr std::array kWaitNames = {"wait", "wait for an event", "stream waits for an event", "wait for a stream",
                                   "wait for a context"};
constexpr std::array kOverheadNames = {"overhead",
                                       "CUPTI hands over a buffer",
                                       "CUPTI instruments",
                                       "CUPTI prepares resources",
                                       "a module is loaded by a call of the runtime",
                                       "a function is loaded when it is first used",
                                       "the command buffer is full",
                                       "CUPTI asks for a buffer",
                                       "CUPTI prepares unified memory"};

template <std::size_t N>
const char* name_of(const std::array<const char*, N>& names, std::size_t number) {
  return names[number < N ? number : 0];
}

// 1 is the compiler of the driver, the others count in the upper half.
const char* overhead_name(std::uint32_t kind) {
  return kind == 1 ? "the driver compiles" : name_of(kOverheadNames, kind >> 16);
}

// "cudaLaunchKernel": without the version that CUPTI puts behind it, and whose stream is the default one. Nothing: it
// is none of those that are recorded where they can be chosen.
std::optional<std::string> call_name(const ApiRecord& call) {
  const Kind domain = call.driver ? Kind::kDriverApi : Kind::kRuntimeApi;
  for (const ApiCall& chosen : kApiCalls)
    if (chosen.domain == domain && chosen.id == call.callback)
      return std::string(chosen.name.substr(0, std::min(chosen.name.find("_v"), chosen.name.find("_pt"))));
  return std::nullopt;
}

RingRecord work_of(EventCategory category, std::int64_t begin_ns, std::int64_t end_ns, NameId name, std::int64_t bytes,
                   std::uint32_t correlation, WorkDetailId detail) {
  return RingRecord::of(WorkEvent{
      .span = {.begin_ns = begin_ns, .end_ns = end_ns, .op_id = kNone, .name = name, .flags = event_flags(category)},
      .bytes = bytes,
      .correlation = correlation,
      .detail = detail});
}

WorkDetail detail_at(const Place& place) {
  return {.device = static_cast<std::int32_t>(place.device),
          .context = static_cast<std::int32_t>(place.context),
          .stream = static_cast<std::int32_t>(place.stream)};
}

}  // namespace

CuptiTrace::CuptiTrace(TraceSink& sink, const CollectedProcess& process)
    : sink_(sink), process_(process), overhead_(sink, host_track("overhead of CUPTI and the driver"), wait_) {
  count_memory();
}

void CuptiTrace::take(const Record& record) {
  std::visit([&](const auto& one) { take_one(one); }, record);
}

bool CuptiTrace::leave_out(std::int64_t begin_ns) {
  if (process_.wants(begin_ns)) return false;
  num_left_out_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void CuptiTrace::take_one(const KernelRecord& kernel) {
  if (leave_out(kernel.begin_ns)) return;
  WorkDetail what = detail_at(kernel.place);
  what.grid = kernel.grid;
  what.block = kernel.block;
  what.registers_per_thread = kernel.registers_per_thread;
  what.static_shared_bytes = kernel.static_shared_bytes;
  what.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
  stream_at(kernel.place)
      .rows.add(work_of(EventCategory::kKernel, kernel.begin_ns, kernel.end_ns, kernel_name(kernel.name), 0,
                        kernel.correlation, detail(what)));
}

void CuptiTrace::take_one(const CopyRecord& copy) {
  if (leave_out(copy.begin_ns)) return;
  WorkDetail what = detail_at(copy.place);
  what.copy_kind = copy.copy_kind;
  what.source_kind = copy.source_kind;
  what.target_kind = copy.target_kind;
  what.source_device = copy.between_gpus ? static_cast<std::int32_t>(copy.source_device) : what.device;
  what.target_device = copy.between_gpus ? static_cast<std::int32_t>(copy.target_device) : what.device;
  stream_at(copy.place)
      .rows.add(work_of(EventCategory::kCopy, copy.begin_ns, copy.end_ns, name(name_of(kCopyNames, copy.copy_kind)),
                        copy.bytes, copy.correlation, detail(what)));
}

void CuptiTrace::take_one(const MemsetRecord& memset) {
  if (leave_out(memset.begin_ns)) return;
  stream_at(memset.place)
      .rows.add(work_of(EventCategory::kMemset, memset.begin_ns, memset.end_ns, name("memset"), memset.bytes,
                        memset.correlation, detail(detail_at(memset.place))));
}

// On the thread of the call with the same correlation, where calls are recorded.
void CuptiTrace::take_one(const SynchronizationRecord& wait) {
  if (leave_out(wait.begin_ns)) return;
  const RecentCalls::Call* const call = calls_.find(wait.correlation);
  WorkDetail what;
  what.synchronization_kind = static_cast<std::uint8_t>(wait.type);
  what.context = static_cast<std::int32_t>(wait.context);
  what.stream = static_cast<std::int32_t>(wait.stream);
  thread_rows(call != nullptr ? call->thread : 0, "waits")
      .add(work_of(EventCategory::kSynchronize, wait.begin_ns, wait.end_ns, name(name_of(kWaitNames, wait.type)), 0,
                   wait.correlation, detail(what)));
}

void CuptiTrace::take_one(const OverheadRecord& overhead) {
  if (leave_out(overhead.begin_ns)) return;
  overhead_.add(work_of(EventCategory::kOverhead, overhead.begin_ns, overhead.end_ns,
                        name(overhead_name(overhead.overhead_kind)), 0, 0, 0));
}

void CuptiTrace::take_one(const ApiRecord& call) {
  if (call.correlation != 0) calls_.at(call.correlation).thread = call.thread;
  if (leave_out(call.begin_ns)) return;
  const std::optional<std::string> called = call_name(call);
  if (!called) {
    ++num_parts_;
    return;
  }
  thread_rows(call.thread, "calls")
      .add(work_of(EventCategory::kApi, call.begin_ns, call.end_ns, name(*called), 0, call.correlation, 0));
}

void CuptiTrace::take_one(const ExternalCorrelationRecord& pushed) {
  ++num_parts_;
  if (pushed.external_kind == kOurIds && pushed.correlation != 0)
    calls_.at(pushed.correlation).pushed = pushed.external_id;
}

void CuptiTrace::take_one(const MarkerRecord& marker) {
  const std::uint32_t thread = marker.thread;
  if ((marker.flags & kRangeEnd) != 0) {
    const auto begun = ranges_.find(marker.id);
    if (begun == ranges_.end()) {
      // It began before recording, or its begin was dropped: without begin it has no place.
      if (process_.windows != nullptr) {
        ++num_left_out_;
        return;
      }
      return sink_.missed(thread_rows(thread, "NVTX").track(), 1, 0);
    }
    end_range(begun->second, marker.time_ns, 0);
    ranges_.erase(begun);
    return;
  }
  if (leave_out(marker.time_ns)) return;
  const bool has_domain = marker.domain != nullptr && *marker.domain != '\0';
  const char* const text = marker.name == nullptr ? "" : marker.name;
  OpenRange range{marker.time_ns, name(has_domain ? fmt::format("{}: {}", marker.domain, text) : text), thread, 0};
  range.depth = depth_[thread]++;
  if ((marker.flags & kInstant) != 0) return end_range(range, marker.time_ns, 0);
  ++num_parts_;
  if (const auto [at, is_new] = ranges_.try_emplace(marker.id, range); !is_new) {
    end_range(at->second, kNeverEnded, kEventUnfinished);  // its end was dropped, and the number is used again
    --num_parts_;
    at->second = range;
  }
}

void CuptiTrace::end_range(const OpenRange& range, std::int64_t end_ns, std::uint32_t flags) {
  --depth_[range.thread];
  RingRecord work = work_of(EventCategory::kAnnotation, range.begin_ns, end_ns, range.name, 0, 0, 0);
  work.span.flags |= flags;
  thread_rows(range.thread, "NVTX").add(work, range.depth);
}

std::optional<LaunchedOp> CuptiTrace::op_of(const RingRecord& work) const {
  const RecentCalls::Call* const call = calls_.find(work.work().correlation);
  return call != nullptr ? launched_op(call->pushed) : std::nullopt;
}

void CuptiTrace::complete(RingRecord& work) const {
  if (const std::optional<LaunchedOp> launched = op_of(work)) {
    work.span.op_id = launched->op;
    work.run = launched->run;
  }
}

// The rank of a stream is that of the first op on it; before that nothing of it is handed over, as a track cannot
// change its rank.
void CuptiTrace::settle(Stream& stream, std::int64_t ended_by_ns, bool all) {
  if (!stream.has_rank) {
    const RingRecord* const first =
        stream.rows.find_held([&](const RingRecord& work) { return op_of(work).has_value(); });
    if (first == nullptr && !all && stream.rows.num_held() < kHeldForRank) return;
    if (first != nullptr) stream.rows.set_rank(op_of(*first)->rank);
    stream.has_rank = true;
  }
  stream.rows.settle(ended_by_ns, [&](RingRecord& work) { complete(work); });
}

// Before what is held is handed over.
void CuptiTrace::count_memory() {
  constexpr std::size_t kNode = 64;  // of a table, beside key and value
  std::size_t texts = 0;
  for (const auto* const names : {&names_, &kernel_names_})
    for (const auto& [text, id] : *names) texts += kNode + text.capacity();
  texts += details_.size() * (kNode + sizeof(WorkDetail));
  std::int64_t bytes = RecentCalls::kBytes + static_cast<std::int64_t>(texts) + overhead_.memory_bytes();
  for (const auto& [place, stream] : streams_) bytes += stream.rows.memory_bytes();
  for (const auto& [name, rows] : threads_) bytes += rows.memory_bytes();
  memory_bytes_ = std::max<std::int64_t>(memory_bytes_, bytes);
}

void CuptiTrace::count_refused() {
  std::int64_t refused = overhead_.num_refused();
  for (const auto& [place, stream] : streams_) refused += stream.rows.num_refused();
  for (const auto& [name, rows] : threads_) refused += rows.num_refused();
  num_refused_ = refused;
}

void CuptiTrace::settle(std::int64_t ended_by_ns, bool all) {
  count_memory();
  const auto completes = [&](RingRecord& work) { complete(work); };
  for (auto& [place, stream] : streams_) settle(stream, ended_by_ns, all);
  for (auto& [name, rows] : threads_) rows.settle(ended_by_ns, completes);
  overhead_.settle(ended_by_ns, completes);
  count_refused();
  num_host_rows_ = 0;
  for (const auto& [name, rows] : threads_) num_host_rows_ += std::max<std::size_t>(rows.num_rows(), 1);
}

void CuptiTrace::settle(std::int64_t ended_by_ns) { settle(ended_by_ns, false); }

void CuptiTrace::end_ranges(std::int64_t begun_by_ns) {
  num_parts_ -= static_cast<std::int64_t>(std::erase_if(ranges_, [&](const auto& open) {
    const bool ends = open.second.begin_ns <= begun_by_ns;
    if (ends) end_range(open.second, kNeverEnded, kEventUnfinished);
    return ends;
  }));
}

void CuptiTrace::finish() {
  end_ranges(kAll);
  settle(kAll, true);
}

void CuptiTrace::missed(std::int64_t dropped, std::int64_t unreadable) {
  if (dropped != 0 || unreadable != 0) sink_.missed(overhead_.track(), dropped, unreadable);
}

CuptiTrace::Stream& CuptiTrace::stream_at(const Place& place) {
  const auto key = std::tuple(place.device, place.context, place.stream);
  if (const auto known = streams_.find(key); known != streams_.end()) return known->second;
  // Numbers of streams are of their context; nearly every process has one for each device.
  const bool first = first_context_.try_emplace(place.device, place.context).first->second == place.context;
  Track track{.rank = process_.rank,
              .kind = TrackKind::kDeviceStream,
              .name = first ? fmt::format("stream {}", place.stream)
                            : fmt::format("stream {} of context {}", place.stream, place.context),
              .process = process_.process,
              .device = gpu_text(static_cast<int>(place.device), bus_id_of_gpu(static_cast<int>(place.device)))};
  // A program that is no run of a plan has no ops to wait for.
  const bool has_rank = process_.rank.has_value() || !is_of_plan(process_);
  return streams_.emplace(key, Stream{TrackRows(sink_, std::move(track), wait_), has_rank}).first->second;
}

TrackRows& CuptiTrace::thread_rows(std::uint32_t thread, const char* what) {
  const std::string name = thread == 0 ? std::string(what) : fmt::format("thread {}: {}", thread, what);
  if (const auto known = threads_.find(name); known != threads_.end()) return known->second;
  if (num_host_rows_ < kMaxHostRows) return add_thread_rows(name, TrackRows::kMaxRows);
  const std::string shared = fmt::format("other threads: {}", what);
  const auto known = threads_.find(shared);
  return known != threads_.end() ? known->second : add_thread_rows(shared, 0);
}

TrackRows& CuptiTrace::add_thread_rows(const std::string& name, int max_rows) {
  ++num_host_rows_;
  return threads_.emplace(name, TrackRows(sink_, host_track(name), wait_, max_rows)).first->second;
}

Track CuptiTrace::host_track(std::string name) const {
  return {.rank = process_.rank, .kind = TrackKind::kHostThread, .name = std::move(name), .process = process_.process};
}

NameId CuptiTrace::name(const std::string& text) {
  return number_in(names_, text, [&] { return sink_.name(text); });
}

NameId CuptiTrace::kernel_name(const char* mangled) {
  if (mangled == nullptr) return 0;
  return number_in(kernel_names_, mangled, [&] {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                           &std::free);
    return sink_.name(status == 0 ? text.get() : mangled);
  });
}

WorkDetailId CuptiTrace::detail(const WorkDetail& what) {
  return number_in(details_, what, [&] { return sink_.detail(what); });
}

}  // namespace spscope::cupti
