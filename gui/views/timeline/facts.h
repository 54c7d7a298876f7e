// What panes of details of timelines share: a fact in a line, and the statistics of durations with their histogram.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/report/document.h"
#include "backend/store/name_statistics.h"
#include "gui/ui/ui.h"
#include "gui/views/timeline/time_part.h"

namespace spscope::gui {

std::string duration(std::int64_t ns);
// "8.053098 ms": a moment in words to be read, exact as time_text(), which is what links and fields take.
std::string moment(std::int64_t ns);
void fact(Ui& ui, std::string_view name, const std::string& value);
// What the colours of rows mean.
void draw_parts(Ui& ui, std::span<const TimePart> parts);
// A table of statistics of durations, a row each: of ranks, of layer passes.
Table statistics_table(const std::string& what);
Row statistics_row(std::string what, const DurationStatistics& s);
// REQUIRES: of at least one event. Where the bins of the histogram stand, one beside the other from its left to its
// right.
Rect draw_statistics(Ui& ui, const std::string& name, const DurationStatistics& s);

}  // namespace spscope::gui
