#include "collectors/nvml/sampler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "collectors/cuda_driver.h"

namespace spscope::nvml {
namespace {

// 6 s of samples: a sink drains rings many times a second, unless its disk is slow.
constexpr std::size_t kRingRecords = 64;

constexpr const char* kLimitsQuantity = "reasons of low clocks";

// It takes no part any more.
bool is_gone(int result) { return result == kGpuIsLost || result == kResetRequired; }

}  // namespace

Sampler::Sampler(const Library& library, std::span<const Gpu> gpus, TraceSink& sink, const CollectedProcess& process,
                 std::function<std::int64_t()> clock)
    : library_(library), sink_(sink), process_(process), clock_(std::move(clock)) {
  for (const Gpu& gpu : gpus) try_sources(gpus_.emplace_back(SampledGpu{.gpu = gpu}));
  const auto has_any = [](const SampledGpu& gpu) {
    return !gpu.calls.empty() || !gpu.fields.empty() || !gpu.slow.empty() || gpu.has_limits;
  };
  if (std::ranges::none_of(gpus_, has_any))
    throw Error(ErrorCode::kCannotCollect, fmt::format("NVML measures nothing here: {}", fmt::join(notes_, "; ")));
}

void Sampler::try_sources(SampledGpu& gpu) {
  std::map<int, std::vector<std::string>> missing;  // quantities by the result
  for (std::size_t i = 0; i < sources().size() && !gpu.lost; ++i) {
    const Source& source = sources()[i];
    const Reading reading = read_once(gpu, source);
    if (choose(gpu, source, reading)) {
      while (i + 1 < sources().size() && sources()[i + 1].quantity == source.quantity) ++i;
    } else if (is_gone(reading.result)) {
      gpu.lost = true;
      missing = {{reading.result, {"everything"}}};
    } else if (i + 1 == sources().size() || sources()[i + 1].quantity != source.quantity) {
      missing[reading.result].emplace_back(source.quantity);
    }
  }
  if (!gpu.lost) {
    const Reading limits = read_clock_limits(library_.calls(), gpu.gpu.handle);
    gpu.has_limits = limits.result == kSuccess;
    if (!gpu.has_limits) missing[limits.result].emplace_back(kLimitsQuantity);
  } else {
    gpu.calls.clear(), gpu.fields.clear(), gpu.slow.clear();
  }
  for (const auto& [result, quantities] : missing) {
    std::string note = fmt::format("{}: no {}: {} ({})", gpu_text(gpu.gpu.ordinal), fmt::join(quantities, ", "),
                                   library_.calls().nvmlErrorString(result), library_.driver());
    if (const std::string_view hint = remedy(result); !hint.empty()) note += fmt::format("; {}", hint);
    notes_.push_back(std::move(note));
  }
}

Reading Sampler::read_once(const SampledGpu& gpu, const Source& source) const {
  if (source.read != nullptr) return source.read(library_.calls(), gpu.gpu.handle);
  FieldValue value = {.field = source.field, .scope = source.scope};
  const int result = library_.calls().nvmlDeviceGetFieldValues(gpu.gpu.handle, 1, &value);
  return result == kSuccess ? reading_of(value) : Reading{.result = result};
}

bool Sampler::choose(SampledGpu& gpu, const Source& source, const Reading& reading) {
  if (reading.result != kSuccess) return false;
  Series series = {.source = &source, .track = track_of(gpu.gpu, source.quantity)};
  series.ring = &ring_of(series.track);
  if (source.read == nullptr) gpu.field_values.push_back({.field = source.field, .scope = source.scope});
  (source.read == nullptr ? gpu.fields : source.slow ? gpu.slow : gpu.calls).push_back(std::move(series));
  return true;
}

Track Sampler::track_of(const Gpu& gpu, std::string_view quantity) const {
  Track track;
  track.rank = process_.rank;
  track.kind = TrackKind::kCounter;
  track.name = fmt::format("{} {}", gpu_text(gpu.ordinal), quantity);
  track.process = process_.process;
  track.device = gpu_text(gpu.ordinal, gpu.bus_id);
  return track;
}

EventRing& Sampler::ring_of(const Track& track) {
  EventRing& ring = sink_.ring(track, kRingRecords);
  memory_bytes_ += static_cast<std::int64_t>(ring.capacity() * sizeof(RingRecord) + sizeof(Series));
  return ring;
}

void Sampler::sample() {
  for (SampledGpu& gpu : gpus_) {
    for (Series& series : gpu.calls) {
      if (gpu.lost) break;
      const Reading reading = series.source->read(library_.calls(), gpu.gpu.handle);
      take(gpu, series, clock_(), reading);
    }
    if (!gpu.lost && !gpu.fields.empty()) sample_fields(gpu);
    if (!gpu.lost && gpu.has_limits) sample_limits(gpu);
  }
  sample_next_slow();
}

void Sampler::begin_anew() {
  for (SampledGpu& gpu : gpus_)
    for (std::vector<Series>* const kind : {&gpu.calls, &gpu.fields, &gpu.slow})
      for (Series& series : *kind) series.any &= series.source->form != Form::kRate;
}

void Sampler::sample_fields(SampledGpu& gpu) {
  const int result = library_.calls().nvmlDeviceGetFieldValues(
      gpu.gpu.handle, static_cast<int>(gpu.field_values.size()), gpu.field_values.data());
  const std::int64_t time_ns = clock_();
  for (std::size_t i = 0; i < gpu.fields.size() && !gpu.lost; ++i)
    take(gpu, gpu.fields[i], time_ns, result == kSuccess ? reading_of(gpu.field_values[i]) : Reading{.result = result});
}

void Sampler::sample_limits(SampledGpu& gpu) {
  const Reading reading = read_clock_limits(library_.calls(), gpu.gpu.handle);
  const std::int64_t time_ns = clock_();
  if (reading.result != kSuccess)
    return fail(gpu, kLimitsQuantity, "nvmlDeviceGetCurrentClocksEventReasons", reading.result);
  for (std::uint64_t left = reading.value; left != 0; left &= left - 1) {
    const std::uint64_t bit = left & -left;
    if (gpu.limits.contains(bit)) continue;
    EventRing& ring = ring_of(track_of(gpu.gpu, fmt::format("low clocks: {} (0 or 1)", clock_limit_name(bit))));
    gpu.limits[bit] = &ring;
    if (gpu.first_limits_ns != 0) push(ring, gpu.first_limits_ns, 0);
    if (gpu.last_limits_ns != gpu.first_limits_ns) push(ring, gpu.last_limits_ns, 0);
  }
  for (const auto& [bit, ring] : gpu.limits) push(*ring, time_ns, (reading.value & bit) != 0 ? 1 : 0);
  if (gpu.first_limits_ns == 0) gpu.first_limits_ns = time_ns;
  gpu.last_limits_ns = time_ns;
}

void Sampler::sample_next_slow() {
  std::size_t count = 0;
  for (const SampledGpu& gpu : gpus_) count += gpu.lost ? 0 : gpu.slow.size();
  if (count == 0) return;
  std::size_t turn = slow_turn_++ % count;
  for (SampledGpu& gpu : gpus_) {
    if (gpu.lost) continue;
    if (turn >= gpu.slow.size()) {
      turn -= gpu.slow.size();
      continue;
    }
    Series& series = gpu.slow[turn];
    const Reading reading = series.source->read(library_.calls(), gpu.gpu.handle);
    return take(gpu, series, clock_(), reading);
  }
}

void Sampler::take(SampledGpu& gpu, Series& series, std::int64_t time_ns, const Reading& reading) {
  const Source& source = *series.source;
  if (reading.result != kSuccess) {
    ++series.failed;
    return fail(gpu, source.quantity, source.call, reading.result);
  }
  if (source.form == Form::kValue) {
    push(*series.ring, time_ns, static_cast<double>(reading.value) * source.scale);
  } else if (source.form == Form::kSinceStart) {
    if (!series.any) series.first = reading.value;
    push(*series.ring, time_ns, static_cast<double>(reading.value - series.first) * source.scale);
  } else if (series.any && time_ns > series.last_ns) {
    // A count of 64 bits goes back only when it is reset: what it was in between is not known.
    std::optional<std::uint64_t> added;
    if (reading.value >= series.last)
      added = reading.value - series.last;
    else if (reading.last != UINT64_MAX)
      added = reading.last - series.last + 1 + reading.value;
    if (added)
      push(*series.ring, time_ns,
           static_cast<double>(*added) * source.scale * 1e9 / static_cast<double>(time_ns - series.last_ns));
  }
  series.any = true;
  series.last = reading.value;
  series.last_ns = time_ns;
}

void Sampler::fail(SampledGpu& gpu, std::string_view what, std::string_view call, int result) {
  ++dropped_;
  const std::string name = gpu_text(gpu.gpu.ordinal);
  const std::lock_guard lock(mutex_);
  if (is_gone(result)) {
    gpu.lost = true;
    notes_.push_back(note_of(failure(library_.calls(), fmt::format("{} has no samples any more", name), call, result)));
  } else {
    ++failures_[note_of(failure(library_.calls(), fmt::format("{} {}", name, what), call, result))];
  }
}

void Sampler::push(EventRing& ring, std::int64_t time_ns, double value) {
  if (!process_.wants(time_ns)) return;  // the window closed while NVML answered
  ++records_;
  if (!ring.push(RingRecord::of(CounterSample{.time_ns = time_ns, .value = value}))) ++dropped_;
}

void Sampler::finish() {
  for (SampledGpu& gpu : gpus_)
    for (std::vector<Series>* const kind : {&gpu.calls, &gpu.fields, &gpu.slow})
      for (Series& series : *kind)
        if (const std::int64_t failed = std::exchange(series.failed, 0); failed > 0)
          sink_.missed(series.track, failed, 0);
}

std::vector<std::string> Sampler::notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> notes = notes_;
  for (const auto& [text, count] : failures_) notes.push_back(fmt::format("{} samples are missing: {}", count, text));
  return notes;
}

}  // namespace spscope::nvml
