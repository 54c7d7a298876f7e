#include "gui/views/timeline/ghost_band.h"

#include <cstdlib>
#include <utility>

#include "backend/base/number_text.h"
#include "gui/views/timeline/facts.h"

namespace spscope::gui {
namespace {

std::string why_no_edit(const std::optional<StrategyExplanation>& of) {
  if (!of) return "The model cannot schedule this strategy again.";
  if (!of->edits_missing.empty()) return sentence(of->edits_missing);
  return "Nothing of this kind can be changed in this layer pass.";
}

}  // namespace

GhostBand make_ghost_band(std::shared_ptr<const PassData> stored, std::optional<StrategyExplanation> explained,
                          TimeEditKind edit) {
  GhostBand ghost;
  ghost.stored = std::move(stored);
  if (explained) ghost.edits = explained->all_edits;
  if (!explained || explained->edits.empty() || explained->edits.back().edit.kind != edit) {
    ghost.problem = why_no_edit(explained);
    return ghost;
  }
  EditResult& result = explained->edits.back();
  auto pass = std::make_shared<PassData>();
  pass->run = ghost.stored->run;
  pass->run.provenance.compute = pass->run.provenance.network = Source::kModelled;
  pass->repeat = ghost.stored->repeat;
  pass->repeat.makespan_ns = result.makespan_ns;
  pass->repeat.lead_ns = result.lead_ns;
  pass->plan = ghost.stored->plan;
  take_timeline(*pass, std::move(result.timeline));
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
