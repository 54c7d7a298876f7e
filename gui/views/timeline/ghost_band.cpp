#include "gui/views/timeline/ghost_band.h"

#include <cstdlib>
#include <utility>

#include "gui/views/timeline/facts.h"

namespace spscope::gui {

GhostBand make_ghost_band(std::shared_ptr<const PassData> stored, const EditResult& result) {
  auto pass = std::make_shared<PassData>();
  pass->run = stored->run;
  pass->run.provenance.compute = pass->run.provenance.network = Source::kModelled;
  pass->repeat = stored->repeat;
  pass->repeat.makespan_ns = result.makespan_ns;
  pass->repeat.lead_ns = result.lead_ns;
  pass->plan = stored->plan;
  take_timeline(*pass, result.timeline);
  GhostBand ghost;
  ghost.stored = std::move(stored);
  ghost.band = std::make_shared<const Band>(make_band(std::move(pass)));
  ghost.edit = result.edit;
  ghost.change_ns = result.change_ns;
  ghost.unchanged_ns = result.makespan_ns - result.change_ns;
  return ghost;
}

std::string ghost_makespan_words(const GhostBand& ghost) {
  const std::string words = duration(ghost.band->makespan_ns);
  const std::int64_t stored_ns = ghost.stored->repeat.makespan_ns;
  const std::string before = ghost.unchanged_ns == stored_ns
                                 ? "as it was"
                                 : "scheduled anew and unchanged, which takes " + duration(ghost.unchanged_ns);
  if (ghost.edit.kind == TimeEditKind::kNone)
    return words + (ghost.unchanged_ns == stored_ns ? ", as it was" : ", stored are " + duration(stored_ns));
  if (ghost.change_ns == 0) return words + ", as long as " + before;
  return words + ", " + duration(std::abs(ghost.change_ns)) + (ghost.change_ns < 0 ? " less than " : " more than ") +
         before;
}

}  // namespace spscope::gui
