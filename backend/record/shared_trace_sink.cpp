#include "backend/record/shared_trace_sink.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/base/error.h"

namespace spscope {
namespace {

// Of a name; longer ones are cut. Templates make names of kernels of some thousand bytes.
constexpr std::size_t kMaxText = 16 << 10;

template <typename T>
std::span<const std::uint8_t> bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

// A power of two that leaves the least to each of the tracks that may follow; 0: there is no place for another track.
std::size_t room_for(std::size_t wanted, std::size_t used, std::size_t num_tracks) {
  if (num_tracks >= SharedTrace::kMaxTracks) return 0;
  const std::size_t reserved = (SharedTrace::kMaxTracks - num_tracks - 1) * SharedTrace::kLeastRecords;
  const std::size_t most = std::bit_floor(SharedTrace::kRecords - used - reserved);
  return std::min(most, std::bit_ceil(std::max(wanted, SharedTrace::kLeastRecords)));
}

}  // namespace

EventRing& SharedTraceSink::ring(const Track& track, std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  return *tracks_[place_of(track, capacity)].ring;
}

std::size_t SharedTraceSink::place_of(const Track& track, std::size_t capacity) {
  Track wanted = track;
  wanted.track_id = {};
  const auto known = std::find_if(tracks_.begin(), tracks_.end(), [&](const Made& m) { return m.track == wanted; });
  if (known != tracks_.end()) return static_cast<std::size_t>(known - tracks_.begin());
  const std::size_t num_records = room_for(capacity, used_records_, tracks_.size());
  const std::string_view name = std::string_view(track.name).substr(0, kMaxText);
  const std::string_view device = track.device ? std::string_view(*track.device).substr(0, kMaxText) : "";
  const SharedTrace::TrackEntry entry = {.first_record = used_records_,
                                         .num_records = num_records,
                                         .slot = track.slot,
                                         .kind = static_cast<std::uint32_t>(track.kind),
                                         .name_bytes = static_cast<std::uint32_t>(name.size()),
                                         .device_bytes = static_cast<std::uint32_t>(device.size()),
                                         .has_device = track.device.has_value(),
                                         .overlapping = track.overlapping};
  if (num_records == 0 || !append(SharedTrace::Entry::kTrack, bytes_of(entry), name, device))
    throw Error(ErrorCode::kCannotCollect,
                "the memory that is shared with `spscope attach` has no place for another track, beyond " +
                    std::to_string(tracks_.size()),
                "collect less, or use fewer streams and threads");
  auto ring =
      std::make_unique<EventRing>(memory_.tracks[tracks_.size()].ring,
                                  std::span(memory_.records).subspan(used_records_, num_records), &memory_.reader);
  used_records_ += num_records;
  tracks_.push_back({std::move(wanted), std::move(ring)});
  return tracks_.size() - 1;
}

bool SharedTraceSink::append(SharedTrace::Entry entry, std::span<const std::uint8_t> head, std::string_view text,
                             std::string_view more) {
  const std::size_t num_bytes = head.size() + text.size() + more.size();
  const SharedTrace::EntryHeader header = {entry, static_cast<std::uint32_t>(num_bytes)};
  const std::size_t begin = memory_.log_end.load(std::memory_order_relaxed);
  const std::size_t end = (begin + sizeof header + num_bytes + 7) / 8 * 8;
  if (end > SharedTrace::kLogBytes) {
    memory_.refused[static_cast<std::size_t>(entry)].fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  std::uint8_t* to = memory_.log.data() + begin;
  const auto put = [&](const void* from, std::size_t size) {
    if (size > 0) std::memcpy(to, from, size);
    to += size;
  };
  put(&header, sizeof header);
  put(head.data(), head.size());
  put(text.data(), text.size());
  put(more.data(), more.size());
  memory_.log_end.store(end, std::memory_order_seq_cst);
  memory_.reader.wake_from_sleep();
  return true;
}

NameId SharedTraceSink::name(std::string_view text) {
  text = text.substr(0, kMaxText);
  if (text.empty()) return 0;
  const std::lock_guard lock(mutex_);
  const auto known = names_.find(std::string(text));
  if (known != names_.end()) return known->second;
  if (!append(SharedTrace::Entry::kName, {}, text)) return 0;
  return names_.emplace(text, static_cast<NameId>(names_.size() + 1)).first->second;
}

WorkDetailId SharedTraceSink::detail(const WorkDetail& what) {
  const std::lock_guard lock(mutex_);
  const auto known = details_.find(what);
  if (known != details_.end()) return known->second;
  if (!append(SharedTrace::Entry::kDetail, bytes_of(what))) return 0;
  return details_.emplace(what, static_cast<WorkDetailId>(details_.size() + 1)).first->second;
}

void SharedTraceSink::missed(const Track& track, std::int64_t dropped, std::int64_t unreadable) {
  const std::lock_guard lock(mutex_);
  SharedTrace::TrackCounters& counters = memory_.tracks[place_of(track, SharedTrace::kLeastRecords)];
  counters.dropped.fetch_add(static_cast<std::uint64_t>(dropped), std::memory_order_relaxed);
  counters.unreadable.fetch_add(static_cast<std::uint64_t>(unreadable), std::memory_order_relaxed);
}

void SharedTraceSink::set_clock(const ClockFit& fit) {
  const std::lock_guard lock(mutex_);
  append(SharedTrace::Entry::kClock, bytes_of(fit));
}

void SharedTraceSink::claim_rank(const RankClaim& claim) {
  const std::lock_guard lock(mutex_);
  append(SharedTrace::Entry::kRank, bytes_of(SharedTrace::RankEntry{.communicator = claim.communicator,
                                                                    .source = static_cast<std::uint32_t>(claim.source),
                                                                    .rank = claim.rank,
                                                                    .num_ranks = claim.num_ranks}));
}

std::optional<std::uint32_t> SharedTraceSink::add_collector(SharedTrace::Entry entry, std::string_view name) {
  if (num_collectors_ == SharedTrace::kMaxCollectors || !append(entry, {}, name)) return std::nullopt;
  return num_collectors_++;
}

std::optional<std::uint32_t> SharedTraceSink::collector(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return add_collector(SharedTrace::Entry::kCollector, name);
}

std::optional<std::uint32_t> SharedTraceSink::not_started(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return add_collector(SharedTrace::Entry::kNotStarted, name);
}

void SharedTraceSink::set_cost(std::uint32_t collector, const CollectorCost& cost, bool has_ended) noexcept {
  SharedTrace::Cost& to = memory_.costs[collector];
  to.thread_ns.store(cost.thread_ns, std::memory_order_relaxed);
  to.callback_ns.store(cost.callback_ns, std::memory_order_relaxed);
  to.memory_bytes.store(cost.memory_bytes, std::memory_order_relaxed);
  to.records.store(cost.records, std::memory_order_relaxed);
  to.dropped.store(cost.dropped, std::memory_order_relaxed);
  to.has_ended.store(has_ended, std::memory_order_release);
}

void SharedTraceSink::note(std::string_view text, std::optional<std::uint32_t> collector) {
  const std::lock_guard lock(mutex_);
  append(SharedTrace::Entry::kNote, bytes_of(collector.value_or(SharedTrace::kNoCollector)), text.substr(0, kMaxText));
}

}  // namespace spscope
