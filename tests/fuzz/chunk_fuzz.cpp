// A chunk with a valid checksum. The input is the row's header, packed as below, and then the data. What is accepted
// must be as many records as the header says, within its bounds, and the columns must be readable to the end.
#include <cstring>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/store/chunk/chunk_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace spscope::fuzz {
namespace {

constexpr std::size_t kHeaderBytes = 2 + 4 + 5 * 8;

std::string packed(const EncodedChunk& chunk) {
  const ChunkHeader& header = chunk.header;
  std::string text = {static_cast<char>(header.kind), static_cast<char>(header.codec)};
  text.append(reinterpret_cast<const char*>(&header.count), 4);
  for (const std::int64_t bound :
       {header.begin_min_ns, header.begin_max_ns, header.end_max_ns, header.op_min, header.op_max})
    text.append(reinterpret_cast<const char*>(&bound), 8);
  return text + as_text(chunk.data);
}

ChunkHeader unpacked(std::string_view text, std::span<const std::uint8_t> data) {
  ChunkHeader header = {.kind = static_cast<RecordKind>(static_cast<unsigned char>(text[0]) % kNumRecordKinds),
                        .codec = static_cast<ChunkCodec>(text[1])};
  std::memcpy(&header.count, text.data() + 2, 4);
  std::int64_t bounds[5];
  std::memcpy(bounds, text.data() + 6, sizeof(bounds));
  header.begin_min_ns = bounds[0], header.begin_max_ns = bounds[1], header.end_max_ns = bounds[2];
  header.op_min = bounds[3], header.op_max = bounds[4];
  header.crc32c = crc32c(data);
  return header;
}

void check_bounds(const ChunkHeader& header, std::int64_t begin_ns, std::int64_t end_ns) {
  SPSCOPE_CHECK(header.begin_min_ns <= begin_ns && begin_ns <= header.begin_max_ns);
  SPSCOPE_CHECK(begin_ns <= end_ns && end_ns <= header.end_max_ns);
}

template <typename Record>
void check_count(const ChunkHeader& header, const std::vector<Record>& records) {
  SPSCOPE_CHECK(records.size() == static_cast<std::size_t>(header.count));
}

void read_columns(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  ChunkColumns columns(header, data);
  std::vector<std::uint64_t> values(static_cast<std::size_t>(columns.count()));
  constexpr int kColumns[kNumRecordKinds] = {5, 12, 2, 8};
  const int num_columns = kColumns[static_cast<std::size_t>(header.kind)];
  for (int column = 0; column < num_columns; ++column) columns.unpack(column, 0, values);
  if (header.kind == RecordKind::kCounter) return;
  const auto name = static_cast<NameId>(columns.value(ChunkColumns::kName, columns.count() / 2));
  std::vector<std::uint32_t> found;
  columns.find_names({&name, 1}, found);
  SPSCOPE_CHECK(!found.empty() && found.size() <= values.size());
}

void read_records(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  if (header.kind == RecordKind::kCounter) {
    std::vector<CounterSample> samples;
    decode_counters(header, data, samples);
    return check_count(header, samples);
  }
  std::vector<SpanEvent> spans;
  decode_spans(header, data, spans);
  check_count(header, spans);
  for (const SpanEvent& event : spans) check_bounds(header, event.begin_ns, event.end_ns);
  if (header.kind == RecordKind::kWork) {
    std::vector<WorkEvent> work;
    decode_work(header, data, work);
    return check_count(header, work);
  }
  if (header.kind != RecordKind::kCollective) return;
  std::vector<CollectiveEvent> collectives;
  decode_collectives(header, data, collectives);
  check_count(header, collectives);
}

// Transfers of five ops, repeat after repeat, one of which never ends.
std::vector<CollectiveEvent> passes() {
  std::vector<CollectiveEvent> events(300);
  std::int64_t now = 1'000;
  for (std::size_t i = 0; i < events.size(); ++i) {
    CollectiveEvent& e = events[i];
    const auto op = static_cast<std::int64_t>(i % 5);
    e.span = {.begin_ns = now, .end_ns = now + (1 << 2 * op), .op_id = op, .name = 3, .flags = 4};
    e.entry_ns = e.span.begin_ns, e.transfer_begin_ns = now + op, e.transfer_end_ns = e.span.end_ns;
    e.sequence = op, e.bytes = 1'000, e.peer = 1;
    now = e.span.end_ns + (op == 4 ? 500'000 : 7 * op);
  }
  events[150].span.end_ns = kNeverEnded;
  return events;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::vector<SpanEvent> spans = {{.begin_ns = 100, .end_ns = 250}, {.begin_ns = 250, .end_ns = 250}};
  std::vector<CollectiveEvent> collectives(3);
  collectives[2].sequence = 9;
  const std::vector<CounterSample> samples = {{.time_ns = 5, .value = 0.5}, {.time_ns = 9, .value = -2}};
  const std::vector<WorkEvent> work = {{spans[0], 4'096, 7, 1}, {spans[1], 0, 3, 2}};
  std::vector<std::string> texts;
  for (const Compress compress : {Compress::kFast, Compress::kBest}) {
    texts.push_back(packed(encode_chunk(samples, compress)));
    texts.push_back(packed(encode_chunk(spans, compress)));
    texts.push_back(packed(encode_chunk(work, compress)));
    texts.push_back(packed(encode_chunk(collectives, compress)));
    texts.push_back(packed(encode_chunk(std::vector<SpanEvent>(300, spans[0]), compress)));
    texts.push_back(packed(encode_chunk(passes(), compress)));
  }
  return texts;
}

void read(std::string_view input) {
  if (input.size() < kHeaderBytes) return;
  const std::span<const std::uint8_t> data = as_bytes(input.substr(kHeaderBytes));
  const ChunkHeader header = unpacked(input, data);
  read_columns(header, data);
  read_records(header, data);
}

}  // namespace spscope::fuzz
