// GhostBand: the layer pass of a strategy as an edit would make it (backend/analysis/time_edits.h): the schedule whose
// makespan Balance says, as rows of time like those of the pass as it was.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/explanation.h"
#include "gui/views/timeline/band.h"

namespace spscope::gui {

struct GhostBand {
  std::shared_ptr<const PassData> stored;  // the pass as it was
  std::vector<TimeEdit> edits;             // those that there are
  std::string problem;                     // why there is nothing below; "": there is
  std::shared_ptr<const Band> band;        // of the same plan; all of its times are modelled
  TimeEdit edit;
  std::int64_t change_ns = 0;     // of the makespan, against the edit kNone
  std::int64_t unchanged_ns = 0;  // the makespan under kNone: the stored one where that is a schedule of this model

  // Of the same strategy of the same file, layer pass and repeat.
  bool is_of(const PassData& pass) const { return stored->key == pass.key; }
};

// `explained`: what explain_edit() gave for this edit and this repeat of the pass. REQUIRES: a pass with a plan and a
// timeline.
GhostBand make_ghost_band(std::shared_ptr<const PassData> stored, std::optional<StrategyExplanation> explained,
                          TimeEditKind edit);

// "17.3 ms, 2.8 ms less than as it was"
std::string ghost_makespan_words(const GhostBand& ghost);

}  // namespace spscope::gui
