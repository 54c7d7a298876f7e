// An activity buffer of CUPTI. The input is a byte that chooses the sizes of records, and then the buffer. Every record
// is handed over or counted, and the buffer's memory ends where its valid bytes do.
#include <cstring>
#include <limits>
#include <memory>

#include "backend/base/check.h"
#include "collectors/cupti/records.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/collectors/sample_buffers.h"

namespace spscope::fuzz {
namespace {

// Those of CUDA 13, with kernels and copies of every version, and some of a size that is not known.
cupti::RecordSizes sizes_of(std::uint8_t choice) {
  cupti::RecordSizes sizes = cupti::sizes_of_13();
  sizes.bytes[10] += 8 * (choice % 16u) - 8 * 8;
  sizes.bytes[1] += 8 * (choice / 16u % 4) - 8 * 3;
  return sizes;
}

// Counts records, and checks what the header promises of them.
struct Total {
  std::int64_t count = 0;
  void add(std::int64_t begin_ns, std::int64_t end_ns) {
    SPSCOPE_CHECK(begin_ns > 0 && end_ns > 0 && end_ns < kNever);
    ++count;
  }
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  void operator()(const cupti::ExternalCorrelationRecord&) { ++count; }
  void operator()(const cupti::MarkerRecord& record) { add(record.time_ns, record.time_ns); }
  void operator()(const cupti::CopyRecord& record) {
    SPSCOPE_CHECK(record.bytes >= 0);
    add(record.begin_ns, record.end_ns);
  }
  void operator()(const auto& record) { add(record.begin_ns, record.end_ns); }
};

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const std::uint8_t choice : {0x38, 0x00, 0x25, 0x1b})
    texts.push_back(std::string(1, static_cast<char>(choice)) + as_text(cupti::one_of_each(sizes_of(choice))));
  return texts;
}

void read(std::string_view input) {
  if (input.empty()) return;
  const cupti::RecordSizes sizes = sizes_of(static_cast<std::uint8_t>(input[0]));
  const std::size_t num_bytes = input.size() - 1;
  const auto buffer = std::make_unique<std::uint8_t[]>(num_bytes);
  std::memcpy(buffer.get(), input.data() + 1, num_bytes);
  Total total;
  const cupti::DecodeCounts counts = cupti::decode_records(
      {buffer.get(), num_bytes}, sizes,
      [&](const cupti::Record& record) { std::visit([&](const auto& one) { total(one); }, record); });
  SPSCOPE_CHECK(total.count == counts.decoded);
  SPSCOPE_CHECK(counts.records() == cupti::count_records({buffer.get(), num_bytes}, sizes));
  SPSCOPE_CHECK(counts.unreadable_bytes <= static_cast<std::int64_t>(num_bytes));
  SPSCOPE_CHECK((counts.unreadable > 0) == (counts.unreadable_bytes > 0));
}

}  // namespace spscope::fuzz
