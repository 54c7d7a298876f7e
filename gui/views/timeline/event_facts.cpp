#include "gui/views/timeline/event_facts.h"

#include <fmt/format.h>

#include <array>

#include "backend/base/number_text.h"
#include "backend/store/chunk/chunk_codec.h"

namespace spscope::gui {
namespace {

// CUpti_ActivityMemcpyKind
constexpr std::array<std::string_view, 11> kCopies = {"",
                                                      "host to device",
                                                      "device to host",
                                                      "host to array",
                                                      "array to host",
                                                      "array to array",
                                                      "array to device",
                                                      "device to array",
                                                      "inside a device",
                                                      "host to host",
                                                      "device to device"};
// CUpti_ActivitySynchronizationType
constexpr std::array<std::string_view, 5> kWaits = {"", "an event", "a stream waits for an event", "a stream",
                                                    "the whole context"};

template <std::size_t kCount>
std::string word_of(const std::array<std::string_view, kCount>& words, std::size_t kind) {
  return kind < kCount && !words[kind].empty() ? std::string(words[kind]) : fmt::format("kind {}", kind);
}

std::string product(const std::array<std::int32_t, 3>& of) { return fmt::format("{} x {} x {}", of[0], of[1], of[2]); }

void add_detail(std::vector<EventFact>& facts, const WorkDetail& detail) {
  if (detail.grid[0] > 0) {
    facts.push_back({"grid", product(detail.grid)});
    facts.push_back({"block", product(detail.block)});
    facts.push_back({"registers", fmt::format("{}", detail.registers_per_thread)});
    facts.push_back({"shared memory",
                     binary_bytes_text(static_cast<double>(detail.static_shared_bytes) + detail.dynamic_shared_bytes)});
  }
  if (detail.copy_kind != 0) facts.push_back({"copied", word_of(kCopies, detail.copy_kind)});
  if (detail.source_device != detail.target_device)
    facts.push_back({"from, to", fmt::format("GPU {}, GPU {}", detail.source_device, detail.target_device)});
  if (detail.synchronization_kind != 0) facts.push_back({"waited for", word_of(kWaits, detail.synchronization_kind)});
}

}  // namespace

RowOf row_of(const RowEvent& event) { return event.track ? RowOf::kTrack : RowOf::kLanes; }

std::string_view waited_words(const RowEvent& event) {
  return wait_part(row_of(event)) == TimePart::kQueued ? "queued" : "waited";
}

std::vector<EventFact> event_facts(const RowEvent& event, const WorkDetail& detail) {
  std::vector<EventFact> facts;
  const auto bytes = static_cast<double>(event.bytes);
  if (event.kind == RecordKind::kCollective) {
    facts.push_back({event.track ? "bytes" : "sent", bytes_text(bytes)});
    // Of the lane of a plan it is the post, which the operation says.
    if (event.track) facts.push_back({"sequence", count_text(static_cast<double>(event.sequence))});
    if (event.peer >= 0) facts.push_back({"peer", fmt::format("rank {}", event.peer)});
  } else if (event.kind == RecordKind::kWork) {
    if (event.bytes != 0) facts.push_back({"bytes", bytes_text(bytes)});
    add_detail(facts, detail);
    if (event.correlation != 0) facts.push_back({"correlation", fmt::format("{}", event.correlation)});
  }
  return facts;
}

}  // namespace spscope::gui
