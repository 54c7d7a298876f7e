// Records of what GPUs and calls of CUDA did, decoded from CUPTI's activity buffers.
//
// A buffer is records one after the other, each as long as the library that wrote it makes records of its kind. One
// build reads what every CUPTI from 11 to 13 writes, because records only grow at their end (layouts.h). What may be
// trusted to tell how long they are:
//
//   * not the version of the headers that spscope was built with: the process brings its own libcupti;
//   * not cuptiGetVersion(): it is the version of the library's API, and no document says which records it writes;
//   * the library's own cuptiActivityGetNextRecord(): whoever reads a buffer must step by it, so if it were wrong every
//     reader would fail. ask_record_sizes() (library.h) lets it step over made-up records once, when it is opened.
//
// A size is then compared with those of record_versions.def, which the toolkit's headers vouch for. A kind whose size
// is none of them is not read: its records are counted as unreadable, and stepped over exactly.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>

#include "collectors/cupti/layouts.h"

namespace spscope::cupti {

// Where work ran. Numbers of CUPTI; a synchronisation of all streams has stream kNoStream.
struct Place {
  std::uint32_t device = 0, context = 0, stream = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
inline constexpr std::uint32_t kNoStream = 0xffff'ffff;

// Records with one `correlation` are of the same call of CUDA. Names are CUPTI's own text, never read while decoding.
struct KernelRecord {
  std::int64_t begin_ns = 0, end_ns = 0;
  Place place = {};
  std::uint32_t correlation = 0;
  std::array<std::int32_t, 3> grid = {}, block = {};  // blocks, and threads of a block: x, y, z
  int registers_per_thread = 0;
  std::int32_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  const char* name = nullptr;  // mangled
  friend bool operator==(const KernelRecord&, const KernelRecord&) = default;
};

// Kinds of copies and of memory are numbers of CUPTI. A copy between GPUs names both ends; others have those of
// `place`.
struct CopyRecord {
  std::int64_t begin_ns = 0, end_ns = 0, bytes = 0;
  Place place = {};
  std::uint32_t correlation = 0;
  std::uint8_t copy_kind = 0, source_kind = 0, target_kind = 0;
  bool between_gpus = false;
  std::uint32_t source_device = 0, target_device = 0;
  friend bool operator==(const CopyRecord&, const CopyRecord&) = default;
};

struct MemsetRecord {
  std::int64_t begin_ns = 0, end_ns = 0, bytes = 0;
  Place place = {};
  std::uint32_t correlation = 0;
  friend bool operator==(const MemsetRecord&, const MemsetRecord&) = default;
};

// A thread waited: for an event, a stream or a context (`type`, a number of CUPTI).
struct SynchronizationRecord {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t type = 0, correlation = 0, context = 0, stream = 0;
  friend bool operator==(const SynchronizationRecord&, const SynchronizationRecord&) = default;
};

// What CUPTI and the driver took for themselves.
struct OverheadRecord {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t overhead_kind = 0;
  friend bool operator==(const OverheadRecord&, const OverheadRecord&) = default;
};

struct ApiRecord {
  std::int64_t begin_ns = 0, end_ns = 0;
  bool driver = false;         // a call of the driver, else of the runtime
  std::uint32_t callback = 0;  // which one: CUPTI_DRIVER_TRACE_CBID_* or CUPTI_RUNTIME_TRACE_CBID_*
  std::uint32_t thread = 0, correlation = 0;
  friend bool operator==(const ApiRecord&, const ApiRecord&) = default;
};

// The id that the thread had pushed when it made the call with this correlation.
struct ExternalCorrelationRecord {
  std::uint32_t external_kind = 0, correlation = 0;
  std::uint64_t external_id = 0;
  friend bool operator==(const ExternalCorrelationRecord&, const ExternalCorrelationRecord&) = default;
};

// One end of an NVTX range, or an instant. Both ends have the same id; the end has no name.
struct MarkerRecord {
  std::int64_t time_ns = 0;
  std::uint32_t flags = 0;  // 1 instant, 2 begin, 4 end
  std::uint32_t id = 0, thread = 0;
  const char* name = nullptr;
  const char* domain = nullptr;
  friend bool operator==(const MarkerRecord&, const MarkerRecord&) = default;
};

using Record = std::variant<KernelRecord, CopyRecord, MemsetRecord, SynchronizationRecord, OverheadRecord, ApiRecord,
                            ExternalCorrelationRecord, MarkerRecord>;
using RecordSink = std::function<void(const Record&)>;

// Bytes of a record of each kind, as a library writes them.
struct RecordSizes {
  static constexpr std::uint32_t kNumKinds = 64;    // CUPTI 13.0 has 55
  std::array<std::uint32_t, kNumKinds> bytes = {};  // 0: the library does not know the kind
  std::uint32_t of(std::uint32_t kind) const { return kind < kNumKinds ? bytes[kind] : 0; }
  // False: the library did not tell.
  bool known() const { return bytes != std::array<std::uint32_t, kNumKinds>{}; }
  // Whether its records are decoded: one of Kind, and of a size that record_versions.def lists.
  bool readable(Kind kind) const;
};

// Where the records of a buffer went. A part that cannot be stepped over counts as one unreadable record, as nobody
// knows how many there were.
struct DecodeCounts {
  std::int64_t decoded = 0;
  std::int64_t undated = 0;     // without times: CUPTI had no memory for them, or was stopped before they ended
  std::int64_t other = 0;       // of kinds that are not read
  std::int64_t unreadable = 0;  // of a size that is not known, or with an impossible time, or not to be stepped over
  std::int64_t unreadable_bytes = 0;
  std::int64_t records() const { return decoded + undated + other + unreadable; }
  DecodeCounts& operator+=(const DecodeCounts& more);
  friend bool operator==(const DecodeCounts&, const DecodeCounts&) = default;
};

// Hands over every record that can be read, in order. Reads no byte outside of `valid` and follows no pointer in it.
DecodeCounts decode_records(std::span<const std::uint8_t> valid, const RecordSizes& sizes, const RecordSink& sink);

// How many records a buffer holds, with a part that cannot be stepped over as one. Does not decode, nor allocate.
std::int64_t count_records(std::span<const std::uint8_t> valid, const RecordSizes& sizes) noexcept;

}  // namespace spscope::cupti
