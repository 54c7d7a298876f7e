// Sampler: takes samples of GPUs and pushes them to counter tracks, "GPU 0 power (W)" and so on.
//
// What a GPU or its driver has not is found out once, at the beginning, and told in a note. Why clocks are low is a
// mask of NVML; here each reason that occurs is a counter of its own, 1 while it holds and 0 while not, so that a
// picture shows it as a row and SQL averages it, and so that reasons which NVML gets later need no table. Such a
// counter begins with 0 at the first sample of the GPU and has a sample at each time from when the reason first held.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/record/trace_sink.h"
#include "collectors/collector.h"
#include "collectors/nvml/gpus.h"
#include "collectors/nvml/quantities.h"

namespace spscope::nvml {

class Sampler {
 public:
  // Tries each source once. The library and the sink outlive it. Throws Error (kCannotCollect): nothing can be read.
  Sampler(const Library& library, std::span<const Gpu> gpus, TraceSink& sink, const CollectedProcess& process,
          std::function<std::int64_t()> clock);

  // A sample of each quantity of each GPU. Slow sources take turns: one of them a call, so that a call takes about
  // 20 ms however many there are. By one thread. Throws Error of the sink's.
  void sample();
  // Before the first sample after a pause: what was added meanwhile is in no rate.
  void begin_anew();
  // Tells the sink which samples could not be taken. After the last sample().
  void finish();

  // By any thread.
  std::int64_t records() const { return records_.load(std::memory_order_relaxed); }
  std::int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  std::int64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }
  std::vector<std::string> notes() const;

 private:
  struct Series {
    const Source* source = nullptr;
    Track track = {};
    EventRing* ring = nullptr;
    bool any = false;  // a reading before this one: first, last and last_ns
    std::uint64_t first = 0, last = 0;
    std::int64_t last_ns = 0, failed = 0;
  };
  struct SampledGpu {
    Gpu gpu = {};
    std::vector<Series> calls = {}, fields = {}, slow = {};
    std::vector<FieldValue> field_values = {};  // of `fields`, in their order
    bool has_limits = false, lost = false;
    std::map<std::uint64_t, EventRing*> limits = {};       // by bit, those that occurred
    std::int64_t first_limits_ns = 0, last_limits_ns = 0;  // 0: not read yet
  };

  void try_sources(SampledGpu& gpu);
  bool choose(SampledGpu& gpu, const Source& source, const Reading& reading);
  Reading read_once(const SampledGpu& gpu, const Source& source) const;
  EventRing& ring_of(const Track& track);
  Track track_of(const Gpu& gpu, std::string_view quantity) const;
  void sample_fields(SampledGpu& gpu);
  void sample_limits(SampledGpu& gpu);
  void sample_next_slow();
  void take(SampledGpu& gpu, Series& series, std::int64_t time_ns, const Reading& reading);
  void fail(SampledGpu& gpu, std::string_view what, std::string_view call, int result);
  void push(EventRing& ring, std::int64_t time_ns, double value);

  const Library& library_;
  TraceSink& sink_;
  const CollectedProcess process_;
  const std::function<std::int64_t()> clock_;
  std::vector<SampledGpu> gpus_;
  std::size_t slow_turn_ = 0;
  std::atomic<std::int64_t> records_ = 0, dropped_ = 0, memory_bytes_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::vector<std::string> notes_;
  std::map<std::string, std::int64_t> failures_;  // how many samples each text stands for
};

}  // namespace spscope::nvml
