#include "collectors/cupti/records.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

namespace spscope::cupti {
namespace {

template <typename Layout>
bool known_size(std::uint32_t bytes) {
#define RECORD_VERSION(layout, version, num_bytes)      \
  static_assert(num_bytes >= sizeof(layout), #version); \
  if (std::is_same_v<Layout, layout> && bytes == num_bytes) return true;
#include "collectors/cupti/record_versions.def"
#undef RECORD_VERSION
  return false;
}

// What became of one record.
enum class Fate { kDecoded, kUndated, kUnreadable };

template <typename Layout>
Layout read(const std::uint8_t* bytes) {
  Layout layout;
  std::memcpy(&layout, bytes, sizeof layout);
  return layout;
}

const char* text(std::uint64_t pointer) { return reinterpret_cast<const char*>(static_cast<std::uintptr_t>(pointer)); }

// Times in a record. CUPTI writes 0 where it has none.
Fate set_times(std::uint64_t start, std::uint64_t end, std::int64_t& begin_ns, std::int64_t& end_ns) {
  constexpr auto kLast = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (start == 0 || end == 0) return Fate::kUndated;
  if (start >= kLast || end >= kLast) return Fate::kUnreadable;
  begin_ns = static_cast<std::int64_t>(start);
  end_ns = static_cast<std::int64_t>(end);
  return Fate::kDecoded;
}

// A copy or a memset of more bytes than a signed number holds was never written by CUPTI.
bool set_bytes(std::uint64_t bytes, std::int64_t& num_bytes) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  num_bytes = static_cast<std::int64_t>(bytes);
  return true;
}

Fate to_record(const KernelLayout& from, KernelRecord& to) {
  to.place = {from.device, from.context, from.stream};
  to.correlation = from.correlation;
  std::copy_n(from.grid, 3, to.grid.begin());
  std::copy_n(from.block, 3, to.block.begin());
  to.registers_per_thread = from.registers_per_thread;
  to.static_shared_bytes = from.static_shared_bytes;
  to.dynamic_shared_bytes = from.dynamic_shared_bytes;
  to.name = text(from.name);
  return set_times(from.start, from.end, to.begin_ns, to.end_ns);
}

template <typename Layout>
Fate to_copy(const Layout& from, CopyRecord& to) {
  to.place = {from.device, from.context, from.stream};
  to.correlation = from.correlation;
  to.copy_kind = from.copy_kind;
  to.source_kind = from.source_kind;
  to.target_kind = from.target_kind;
  if (!set_bytes(from.bytes, to.bytes)) return Fate::kUnreadable;
  return set_times(from.start, from.end, to.begin_ns, to.end_ns);
}

Fate to_record(const CopyLayout& from, CopyRecord& to) {
  to.source_device = to.target_device = from.device;
  return to_copy(from, to);
}

Fate to_record(const PeerCopyLayout& from, CopyRecord& to) {
  to.between_gpus = true;
  to.source_device = from.source_device;
  to.target_device = from.target_device;
  return to_copy(from, to);
}

Fate to_record(const MemsetLayout& from, MemsetRecord& to) {
  to.place = {from.device, from.context, from.stream};
  to.correlation = from.correlation;
  if (!set_bytes(from.bytes, to.bytes)) return Fate::kUnreadable;
  return set_times(from.start, from.end, to.begin_ns, to.end_ns);
}

Fate to_record(const SynchronizationLayout& from, SynchronizationRecord& to) {
  to.type = from.type;
  to.correlation = from.correlation;
  to.context = from.context;
  to.stream = from.stream;
  return set_times(from.start, from.end, to.begin_ns, to.end_ns);
}

Fate to_record(const OverheadLayout& from, OverheadRecord& to) {
  to.overhead_kind = from.overhead_kind;
  return set_times(from.start, from.end, to.begin_ns, to.end_ns);
}

Fate to_record(const ApiLayout& from, ApiRecord& to) {
  to.driver = from.kind == static_cast<std::uint32_t>(Kind::kDriverApi);
  to.callback = from.callback;
  to.thread = from.thread;
  to.correlation = from.correlation;
  return set_times(from.start, from.end, to.begin_ns, to.end_ns);
}

Fate to_record(const ExternalCorrelationLayout& from, ExternalCorrelationRecord& to) {
  to.external_kind = from.external_kind;
  to.external_id = from.external_id;
  to.correlation = from.correlation;
  return Fate::kDecoded;
}

Fate to_record(const MarkerLayout& from, MarkerRecord& to) {
  to.flags = from.flags;
  to.id = from.id;
  to.thread = from.object[1];
  to.name = text(from.name);
  to.domain = text(from.domain);
  std::int64_t end_ns = 0;
  return set_times(from.time, from.time, to.time_ns, end_ns);
}

// Calls visit(layout, record) with empty ones of the types that belong to a kind; false: it is not read.
template <typename Visit>
bool with_types(std::uint32_t kind, Visit&& visit) {
  switch (static_cast<Kind>(kind)) {
    case Kind::kKernel:
    case Kind::kSerialKernel:
      return visit(KernelLayout{}, KernelRecord{}), true;
    case Kind::kCopy:
      return visit(CopyLayout{}, CopyRecord{}), true;
    case Kind::kPeerCopy:
      return visit(PeerCopyLayout{}, CopyRecord{}), true;
    case Kind::kMemset:
      return visit(MemsetLayout{}, MemsetRecord{}), true;
    case Kind::kSynchronization:
      return visit(SynchronizationLayout{}, SynchronizationRecord{}), true;
    case Kind::kOverhead:
      return visit(OverheadLayout{}, OverheadRecord{}), true;
    case Kind::kDriverApi:
    case Kind::kRuntimeApi:
      return visit(ApiLayout{}, ApiRecord{}), true;
    case Kind::kExternalCorrelation:
      return visit(ExternalCorrelationLayout{}, ExternalCorrelationRecord{}), true;
    case Kind::kMarker:
      return visit(MarkerLayout{}, MarkerRecord{}), true;
  }
  return false;
}

void decode_record(std::uint32_t kind, std::span<const std::uint8_t> bytes, const RecordSink& sink,
                   DecodeCounts& counts) {
  const bool is_read = with_types(kind, [&]<typename Layout, typename To>(const Layout&, To record) {
    Fate fate = Fate::kUnreadable;
    if (known_size<Layout>(static_cast<std::uint32_t>(bytes.size())))
      fate = to_record(read<Layout>(bytes.data()), record);
    if (fate == Fate::kDecoded) sink(record);
    counts.decoded += fate == Fate::kDecoded;
    counts.undated += fate == Fate::kUndated;
    if (fate != Fate::kUnreadable) return;
    ++counts.unreadable;
    counts.unreadable_bytes += static_cast<std::int64_t>(bytes.size());
  });
  counts.other += !is_read;
}

// Calls visit(kind, bytes) for each record. Returns the bytes at the end that are no whole record.
template <typename Visit>
std::size_t step(std::span<const std::uint8_t> valid, const RecordSizes& sizes, Visit&& visit) {
  while (valid.size() >= sizeof(std::uint32_t)) {
    const auto kind = read<std::uint32_t>(valid.data());
    const std::size_t num_bytes = sizes.of(kind);
    if (num_bytes == 0 || num_bytes > valid.size()) break;
    visit(kind, valid.first(num_bytes));
    valid = valid.subspan(num_bytes);
  }
  return valid.size();
}

}  // namespace

bool RecordSizes::readable(Kind kind) const {
  bool known = false;
  with_types(static_cast<std::uint32_t>(kind), [&]<typename Layout, typename To>(const Layout&, const To&) {
    known = known_size<Layout>(of(static_cast<std::uint32_t>(kind)));
  });
  return known;
}

DecodeCounts& DecodeCounts::operator+=(const DecodeCounts& more) {
  decoded += more.decoded;
  undated += more.undated;
  other += more.other;
  unreadable += more.unreadable;
  unreadable_bytes += more.unreadable_bytes;
  return *this;
}

DecodeCounts decode_records(std::span<const std::uint8_t> valid, const RecordSizes& sizes, const RecordSink& sink) {
  DecodeCounts counts;
  const std::size_t left = step(valid, sizes, [&](std::uint32_t kind, std::span<const std::uint8_t> bytes) {
    decode_record(kind, bytes, sink, counts);
  });
  counts.unreadable += left > 0;
  counts.unreadable_bytes += static_cast<std::int64_t>(left);
  return counts;
}

std::int64_t count_records(std::span<const std::uint8_t> valid, const RecordSizes& sizes) noexcept {
  std::int64_t count = 0;
  const std::size_t left = step(valid, sizes, [&](std::uint32_t, std::span<const std::uint8_t>) { ++count; });
  return count + (left > 0);
}

}  // namespace spscope::cupti
