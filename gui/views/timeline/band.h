// Band: a strategy's layer pass as rows of time: what each rank did at each moment, and what each of its lanes did.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/analysis/critical_path.h"
#include "backend/analysis/partners.h"
#include "gui/session/pass_data.h"
#include "gui/views/timeline/time_spans.h"

namespace spscope::gui {

struct BandRow {
  int rank = 0;
  int lane = -1;  // -1: the rank as a whole
  // In order of time, without overlap. Of a whole rank each nanosecond belongs to the first of: compute, data that
  // moved, waiting for a partner; so that their sums are those of rank_times.
  std::vector<TimeSpan> spans;
};

struct Band {
  std::shared_ptr<const PassData> pass;
  std::vector<BandRow> ranks;               // by rank
  std::vector<std::vector<BandRow>> lanes;  // by rank, those that it uses
  std::vector<std::string> names;           // of events, sorted
  std::vector<int> name_of;                 // by OpId, in `names`
  CriticalPath path;
  std::vector<std::int64_t> slack_ns;  // by OpId
  std::shared_ptr<const Partners> partners;
  std::vector<std::vector<OpId>> ops_of_post;  // sorted by rank
  std::int64_t makespan_ns = 0;
  // Of all that is drawn: before 0 what runs beside the layer pass before, and nothing ends after end_ns.
  std::int64_t begin_ns = 0, end_ns = 0;

  const OpTimes& times(OpId op) const { return pass->timeline->ops[static_cast<std::size_t>(op)]; }
  const std::string& name(OpId op) const {
    return names[static_cast<std::size_t>(name_of[static_cast<std::size_t>(op)])];
  }
  // Of the critical path, without what runs beside the layer pass before: the shares add up to the makespan.
  std::int64_t path_ns(PathShare share) const;
  // The partner that posted last; kNone when the op waited for nobody.
  OpId late_partner(OpId op) const;
  // The operation of a rank in a post; kNone when it has none.
  OpId op_of(PostId post, int rank) const;
};

// REQUIRES: the pass has a plan and a timeline.
Band make_band(std::shared_ptr<const PassData> pass);

}  // namespace spscope::gui
