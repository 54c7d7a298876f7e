// What the window says of an event beside its times: what a collective moved, what a launch, a copy or a wait was.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/record/work_detail.h"
#include "backend/store/chunk/event_reader.h"
#include "gui/views/timeline/time_part.h"

namespace spscope::gui {

struct EventFact {
  std::string_view name;
  std::string value;
  friend bool operator==(const EventFact&, const EventFact&) = default;
};
RowOf row_of(const RowEvent& event);
// What an event did before the data of it moved: of an operation of NCCL its channels had not begun on the device.
std::string_view waited_words(const RowEvent& event);
// `detail`: that of the event; nothing set when it has none.
std::vector<EventFact> event_facts(const RowEvent& event, const WorkDetail& detail);

}  // namespace spscope::gui
