#include "backend/record/shared_trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "backend/base/clock_drift.h"
#include "backend/base/printable.h"
#include "backend/base/utf8.h"

namespace spscope {
namespace {

constexpr std::int64_t kMaxTime = std::int64_t{1} << 62;  // 146 years
constexpr std::uint32_t kKnownFlags = 0xffffu | kEventUnfinished | kEventClamped | kEventModelled;

std::string text_of(std::span<const std::uint8_t> bytes) {
  return printable_line(clean_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).text);
}

template <typename T>
bool read_into(std::span<const std::uint8_t> bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  return true;
}

// Of a figure that grows from 0 on; what cannot be is damage, and 0.
std::int64_t possible(const std::atomic<std::int64_t>& figure) {
  const std::int64_t value = figure.load(std::memory_order_relaxed);
  return value >= 0 && value < kMaxTime ? value : 0;
}

void add_line(std::string& lines, const std::string& line) { lines += (lines.empty() ? "" : "\n") + line; }

bool is_possible(const SpanEvent& span) {
  const bool never_ended = span.end_ns == kNeverEnded && (span.flags & kEventUnfinished) != 0;
  return span.begin_ns >= 0 && span.begin_ns < kMaxTime && (never_ended || span.end_ns < kMaxTime) &&
         span.end_ns >= span.begin_ns && static_cast<int>(event_category(span.flags)) < kNumEventCategories;
}

}  // namespace

SharedTraceReader::SharedTraceReader(SharedTrace& memory, SharedTraceOwner owner, TraceSink& sink,
                                     std::function<void(const std::string&)> on_note)
    : memory_(memory), owner_(std::move(owner)), sink_(sink), on_note_(std::move(on_note)) {}

// The log is read after the ends of the rings: then it holds all that the records before these ends refer to.
bool SharedTraceReader::drain() {
  pushed_.clear();
  for (std::size_t place = 0; place < tracks_.size(); ++place) pushed_.push_back(pushed(place));
  bool any = read_log();
  for (std::size_t place = 0; place < pushed_.size(); ++place) {
    any |= read_ring(tracks_[place], pushed_[place]);
    read_counts(tracks_[place], place);
  }
  return any;
}

bool SharedTraceReader::is_empty() const {
  if (!log_is_broken_ && log_end() != log_read_) return false;
  for (std::size_t place = 0; place < tracks_.size(); ++place)
    if (!tracks_[place].is_broken && pushed(place) != tracks_[place].taken) return false;
  return true;
}

// Rings before the log, as in drain().
void SharedTraceReader::seal() {
  Ends ends;
  for (const SharedTrace::TrackCounters& track : memory_.tracks)
    ends.pushed.push_back(track.ring.pushed.load(std::memory_order_acquire));
  ends.log = memory_.log_end.load(std::memory_order_acquire);
  sealed_ = std::move(ends);
}

std::int64_t SharedTraceReader::drop_rest() {
  std::int64_t dropped = 0;
  for (std::size_t place = 0; place < tracks_.size(); ++place) {
    Source& source = tracks_[place];
    const std::uint64_t end = pushed(place), left = end - source.taken;
    if (source.is_broken || left > source.num_records) continue;
    sink_.missed(source.track, static_cast<std::int64_t>(left), 0);
    source.taken = end;
    dropped += static_cast<std::int64_t>(left);
  }
  for (std::size_t place = tracks_.size(); place < SharedTrace::kMaxTracks; ++place)
    dropped += static_cast<std::int64_t>(std::min<std::uint64_t>(pushed(place), SharedTrace::kRecords));
  return dropped;
}

std::uint64_t SharedTraceReader::pushed(std::size_t place) const {
  return sealed_ ? sealed_->pushed[place] : memory_.tracks[place].ring.pushed.load(std::memory_order_seq_cst);
}

std::uint64_t SharedTraceReader::log_end() const {
  return sealed_ ? sealed_->log : memory_.log_end.load(std::memory_order_seq_cst);
}

bool SharedTraceReader::has_ended(std::size_t collector) const {
  return memory_.costs[collector].has_ended.load(std::memory_order_acquire) != 0;
}

bool SharedTraceReader::have_collectors_ended() const {
  for (std::size_t number = 0; number < collectors_.size(); ++number)
    if (collectors_[number].was_started && !has_ended(number)) return false;
  return true;
}

void SharedTraceReader::give_up(const std::string& why) {
  on_note_("what it left in the memory that it shares with spscope is damaged: " + why);
}

bool SharedTraceReader::read_log() {
  if (log_is_broken_) return false;
  const std::uint64_t end = log_end();
  const bool any = end != log_read_;
  if (end > SharedTrace::kLogBytes || end < log_read_ || end % 8 != 0) {
    log_is_broken_ = true;
    give_up("its log ends where it cannot");
    return false;
  }
  while (log_read_ < end && !log_is_broken_) {
    const std::span<const std::uint8_t> rest = std::span(memory_.log).subspan(log_read_, end - log_read_);
    SharedTrace::EntryHeader header;
    const bool has_header = read_into(rest, header);
    const std::size_t size = (sizeof header + std::size_t{header.num_bytes} + 7) / 8 * 8;
    log_is_broken_ =
        !has_header || size > rest.size() || !read_entry(header.entry, rest.subspan(sizeof header, header.num_bytes));
    if (log_is_broken_)
      give_up(fmt::format("its log makes no sense from byte {} on", log_read_));
    else
      log_read_ += size;
  }
  return any;
}

bool SharedTraceReader::read_entry(SharedTrace::Entry entry, std::span<const std::uint8_t> bytes) {
  switch (entry) {
    case SharedTrace::Entry::kTrack:
      return add_track(bytes);
    case SharedTrace::Entry::kName:
      names_.push_back(sink_.name(text_of(bytes)));
      return true;
    case SharedTrace::Entry::kDetail: {
      WorkDetail detail;
      if (bytes.size() != sizeof detail || !read_into(bytes, detail)) return false;
      details_.push_back(sink_.detail(detail));
      return true;
    }
    case SharedTrace::Entry::kClock: {
      ClockFit fit;
      if (bytes.size() != sizeof fit || !read_into(bytes, fit)) return false;
      if (!(std::abs(fit.drift) <= kMaxClockDrift) || fit.bound_ns < 0 || fit.exchanges < 0) return false;
      sink_.set_clock(fit);
      return true;
    }
    case SharedTrace::Entry::kNote:
      return add_note(bytes);
    case SharedTrace::Entry::kCollector:
    case SharedTrace::Entry::kNotStarted:
      if (collectors_.size() == SharedTrace::kMaxCollectors) return false;
      collectors_.push_back({text_of(bytes), {}, entry == SharedTrace::Entry::kCollector});
      return true;
    case SharedTrace::Entry::kRank:
      return add_claim(bytes);
  }
  return false;
}

bool SharedTraceReader::add_claim(std::span<const std::uint8_t> bytes) {
  SharedTrace::RankEntry entry;
  if (bytes.size() != sizeof entry || !read_into(bytes, entry)) return false;
  const RankClaim claim = {static_cast<RankSource>(entry.source), entry.rank, entry.num_ranks, entry.communicator};
  if (!is_possible(claim)) return false;
  if (claims_.size() < kMostClaims) claims_.push_back(claim);
  return true;
}

bool SharedTraceReader::add_note(std::span<const std::uint8_t> bytes) {
  std::uint32_t collector = 0;
  if (!read_into(bytes, collector)) return false;
  if (collector != SharedTrace::kNoCollector && collector >= collectors_.size()) return false;
  if (++notes_ > kMostNotes) return true;
  const std::string text = text_of(bytes.subspan(sizeof collector));
  on_note_(text);
  if (collector != SharedTrace::kNoCollector) add_line(collectors_[collector].notes, text);
  return true;
}

std::string SharedTraceReader::notes_left_out() const {
  return notes_ <= kMostNotes ? "" : fmt::format("{} more notes of it are not shown", notes_ - kMostNotes);
}

std::string SharedTraceReader::left_unnamed() const {
  const auto refused = [&](SharedTrace::Entry entry) {
    return memory_.refused[static_cast<std::size_t>(entry)].load(std::memory_order_relaxed);
  };
  const std::uint64_t names = refused(SharedTrace::Entry::kName), details = refused(SharedTrace::Entry::kDetail);
  if (names == 0 && details == 0) return "";
  return fmt::format(
      "{} of its events have no name, and {} no grid and no stream: different names and grids fill the {} MiB that it "
      "shares with attach for them; collect a window by --delay and --duration, or give ranges fewer different names",
      names, details, SharedTrace::kLogBytes >> 20);
}

std::vector<CollectorRecord> SharedTraceReader::collectors(bool lives_on) const {
  std::vector<CollectorRecord> records;
  for (std::size_t number = 0; number < collectors_.size(); ++number) {
    CollectorRecord record = {.first_rank = owner_.rank.value_or(kNoRank),
                              .process = owner_.process,
                              .name = collectors_[number].name,
                              .notes = collectors_[number].notes};
    if (!collectors_[number].was_started) {
      record.outcome = CollectorOutcome::kNotStarted;
    } else {
      if (!has_ended(number)) {
        record.outcome = CollectorOutcome::kCutOff;
        add_line(record.notes,
                 fmt::format("{}: {}: what had not been handed over by then is missing and counted nowhere, and what "
                             "it took is as of up to a second before",
                             record.name,
                             lives_on ? "the process went on when attach stopped reading"
                                      : "the process ended before the collector did"));
      }
      const SharedTrace::Cost& cost = memory_.costs[number];
      record.cost = {possible(cost.thread_ns), possible(cost.callback_ns), possible(cost.memory_bytes),
                     possible(cost.records), possible(cost.dropped)};
    }
    records.push_back(std::move(record));
  }
  return records;
}

bool SharedTraceReader::add_track(std::span<const std::uint8_t> bytes) {
  SharedTrace::TrackEntry entry;
  if (!read_into(bytes, entry) || tracks_.size() == SharedTrace::kMaxTracks) return false;
  const std::span<const std::uint8_t> texts = bytes.subspan(sizeof entry);
  if (std::size_t{entry.name_bytes} + entry.device_bytes != texts.size()) return false;
  if (!std::has_single_bit(entry.num_records) || entry.num_records > SharedTrace::kRecords ||
      entry.first_record > SharedTrace::kRecords - entry.num_records)
    return false;
  // Lanes are of ranks of plans, which an attached program has not.
  if (entry.kind >= kNumTrackKinds || entry.kind == static_cast<std::uint32_t>(TrackKind::kRankLane)) return false;
  Source source;
  source.track.rank = owner_.rank;
  source.track.slot = std::max(0, entry.slot);
  source.track.overlapping = entry.overlapping != 0;
  source.track.kind = static_cast<TrackKind>(entry.kind);
  source.track.name = text_of(texts.first(entry.name_bytes));
  source.track.process = owner_.process;
  if (entry.has_device != 0) source.track.device = text_of(texts.subspan(entry.name_bytes));
  source.first_record = entry.first_record;
  source.num_records = entry.num_records;
  source.to = &sink_.ring(source.track, source.num_records);
  tracks_.push_back(std::move(source));
  return true;
}

bool SharedTraceReader::read_ring(Source& source, std::uint64_t pushed) {
  if (source.is_broken || pushed == source.taken) return false;
  if (pushed - source.taken > source.num_records) {
    source.is_broken = true;
    sink_.missed(source.track, 0, 1);
    give_up(fmt::format("the ring of {} holds more than it can", track_text(source.track)));
    return false;
  }
  const std::uint64_t end = source.taken + std::min<std::uint64_t>(pushed - source.taken, source.to->room());
  const bool any = end != source.taken;
  std::int64_t unreadable = 0;
  for (; source.taken != end; ++source.taken) {
    RingRecord record = memory_.records[source.first_record + (source.taken & (source.num_records - 1))];
    if (!translate(source, record))
      ++unreadable;
    else if (source.to->push(record))
      ++records_;
  }
  if (unreadable > 0) sink_.missed(source.track, 0, unreadable);
  memory_.tracks[static_cast<std::size_t>(&source - tracks_.data())].ring.taken.store(end, std::memory_order_release);
  return any;
}

bool SharedTraceReader::translate(const Source& source, RingRecord& record) const {
  if ((source.track.kind == TrackKind::kCounter) != (record.kind == RingKind::kCounter)) return false;
  if (record.kind > RingKind::kWork) return false;
  record.run = kNoRun;
  record.reserved = 0;
  record.span.op_id = -1;
  record.span.flags &= kKnownFlags;
  if (record.kind == RingKind::kCounter)
    return record.span.begin_ns >= 0 && record.span.begin_ns < kMaxTime && std::isfinite(record.counter().value);
  if (!is_possible(record.span) || record.span.name >= names_.size()) return false;
  record.span.name = names_[record.span.name];
  if (record.kind == RingKind::kWork) {
    if (record.communicator >= details_.size() || record.bytes < 0) return false;
    record.communicator = details_[record.communicator];
  } else if (record.kind == RingKind::kCollective) {
    record.communicator = 0;  // they are of lanes
    if (record.bytes < 0 || record.sequence < -1 || record.peer < -1) return false;
    if (record.transfer_begin_ns < record.span.begin_ns || record.transfer_begin_ns > record.span.end_ns) return false;
  }
  return true;
}

void SharedTraceReader::read_counts(Source& source, std::size_t place) {
  const SharedTrace::TrackCounters& counters = memory_.tracks[place];
  const std::uint64_t dropped =
      counters.dropped.load(std::memory_order_relaxed) + counters.ring.dropped.load(std::memory_order_relaxed);
  const std::uint64_t unreadable = counters.unreadable.load(std::memory_order_relaxed);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // more come of damage
  if (dropped == source.dropped && unreadable == source.unreadable) return;
  if (dropped < source.dropped || unreadable < source.unreadable || dropped > kMost || unreadable > kMost) return;
  sink_.missed(source.track, static_cast<std::int64_t>(dropped - source.dropped),
               static_cast<std::int64_t>(unreadable - source.unreadable));
  source.dropped = dropped;
  source.unreadable = unreadable;
}

}  // namespace spscope
