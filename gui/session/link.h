// Links: a place in the window as one line of text, which names files, view, scope and selection:
//
//   RUN.db#timeline?s=dbsp&layer=3&step=1&t=1.2ms..1.9ms&rank=5&op=12
//   RUN.db#timeline?time=file&t=10s..12s      the time of whole files instead of that of a layer pass
//   RUN.db#timeline?time=file&counters=0,1    with the counters of the first two GPUs
//   RUN.db,OTHER.db#timeline?file=1           of several files only the second
//   RUN.db#timeline?whatif=ulysses,no_latency with the schedule of an edit below the band of a strategy
//
// Several files stand before the # with commas between. Of each name, the characters % , # ? & = + and blanks are
// written as %XX. Strategies of other files than the first have its number before them: s=dbsp,1:dbsp. Both
// their ids and their labels are taken: s=ring%20r8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/analysis/time_edits.h"
#include "backend/base/result.h"

namespace spscope::gui {

struct TimeRange {
  std::int64_t begin_ns = 0, end_ns = 0;
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// A strategy of one of the open files.
struct StrategyKey {
  int file = 0;
  std::string id;
  friend auto operator<=>(const StrategyKey&, const StrategyKey&) = default;
};

// What would be if one thing of a strategy were otherwise. Of kRankAsMean: the rank that computes longest.
struct WhatIf {
  StrategyKey strategy;
  TimeEditKind edit = TimeEditKind::kNone;
  friend bool operator==(const WhatIf&, const WhatIf&) = default;
};

// The layer pass that is looked at. Layer and denoise step: those of the slowest pass where absent, or where no chosen
// strategy has run them; the repeat with the median makespan where absent.
struct Scope {
  std::optional<int> file;              // the only one that is looked at; absent: all that are open
  std::vector<StrategyKey> strategies;  // empty: all
  std::optional<int> layer, step, repeat;
  std::optional<WhatIf> what_if;  // drawn beside the pass as it was
  bool whole_file = false;        // timelines show the time of files, not that of one layer pass
  std::vector<int> counters;      // which groups of counters of each file are unfolded there, by number, in order
  friend bool operator==(const Scope&, const Scope&) = default;
};

// What is selected; views show it wherever they have it.
struct Selection {
  std::optional<StrategyKey> strategy;
  std::optional<int> rank, op, head;
  std::optional<TimeRange> time;            // of the timeline, from the zero of its strategies or of its files
  std::optional<std::pair<int, int>> tile;  // blocks of queries and of keys
  std::string name;                         // of events
  friend bool operator==(const Selection&, const Selection&) = default;
};

struct Link {
  std::vector<std::string> files;
  std::string view;  // of views.def; "": the one that suits the files
  Scope scope;
  Selection selection;
  friend bool operator==(const Link&, const Link&) = default;
};

std::string link_text(const Link& link);
// Also a path alone. The error says which part is wrong, and what it may be.
Result<Link> parse_link(std::string_view text);

// "1.2ms": the shortest text of a whole number of nanoseconds in ns, us, ms or s.
std::string time_text(std::int64_t ns);
// Nothing when it is no time: a number and one of these units.
std::optional<std::int64_t> parse_time(std::string_view text);

}  // namespace spscope::gui
