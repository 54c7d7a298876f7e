// JSON of `spscope explain` (schemas/explanation.schema.json). Keys are only ever added; what is not known is null.
#include "backend/base/json.h"
#include "backend/report/explain.h"
#include "backend/report/json_result.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

constexpr int kSchemaVersionOfExplanations = 1;

Json path_json(const StrategyExplanation& e) {
  Json steps = Json::array(), visits = Json::array(), shares = Json::object();
  for (const PathStep& s : e.path.steps)
    steps.push_back({{"op", s.op},
                     {"rank", s.rank},
                     {"cause", path_cause_name(s.cause)},
                     {"after", s.after == kNone ? Json(nullptr) : Json(s.after)},
                     {"share", path_share_name(s.share)},
                     {"begin_ns", s.begin_ns},
                     {"end_ns", s.end_ns}});
  for (int i = 0; i < kNumPathShares; ++i)
    shares[path_share_name(static_cast<PathShare>(i))] = e.path.of(static_cast<PathShare>(i));
  for (const PathVisit& v : e.path_visits) visits.push_back({{"rank", v.rank}, {"ns", v.ns}});
  return {{"steps", std::move(steps)},
          {"shares_ns", std::move(shares)},
          {"ranks", std::move(visits)},
          {"terms_ns", terms_json(e.path_terms)}};
}

Json stragglers_json(const StrategyExplanation& e) {
  Json list = Json::array();
  for (const Straggler& s : e.stragglers) {
    Json held_up = Json::array();
    for (const HeldUp& h : s.held_up) held_up.push_back({{"rank", h.rank}, {"wait_ns", h.wait_ns}});
    list.push_back({{"rank", s.rank},
                    {"compute_ns", s.compute_ns},
                    {"excess_ns", s.excess_ns},
                    {"more_tiles_ns", s.more_tiles_ns},
                    {"slower_tiles_ns", s.slower_tiles_ns},
                    {"other_ns", s.other_ns},
                    {"tiles", s.tiles},
                    {"mean_tiles", s.mean_tiles},
                    {"heads", s.heads.empty() ? Json(nullptr) : Json(s.heads)},
                    {"density", s.density ? Json(*s.density) : Json(nullptr)},
                    {"mean_density", s.mean_density ? Json(*s.mean_density) : Json(nullptr)},
                    {"held_up", std::move(held_up)},
                    {"held_up_ns", s.held_up_ns}});
  }
  return list;
}

Json reason_json(const StrategyExplanation& e) {
  if (!e.reason) return nullptr;
  Json object{{"difference_ns", e.reason->difference_ns},
              {"mean_terms_ns", terms_json(e.reason->terms)},
              {"path_terms_ns", terms_json(e.more_on_path)},
              {"text", e.reason_text}};
  add_causes(*e.reason, object);
  return object;
}

Json edits_json(const StrategyExplanation& e) {
  Json list = Json::array();
  for (const EditResult& edit : e.edits)
    list.push_back({{"edit", time_edit_key(edit.edit)},
                    {"rank", edit.edit.kind == TimeEditKind::kRankAsMean ? Json(edit.edit.rank) : Json(nullptr)},
                    {"text", time_edit_text(edit.edit)},
                    {"makespan_ns", edit.makespan_ns},
                    {"change_ns", edit.change_ns},
                    {"step_makespan_ns", edit.step_makespan_ns},
                    {"source", source_name(Source::kModelled)}});
  return list;
}

Json strategy_json(const StrategyExplanation& e) {
  Json object{{"id", e.id},
              {"label", e.label},
              {"missing", e.missing.empty() ? Json(nullptr) : Json(e.missing)},
              {"makespan_ns", e.makespan_ns}};
  if (!e.missing.empty()) return object;
  object["repeat"] = e.repeat;
  object["provenance"] = {{"compute", source_name(e.provenance.compute)},
                          {"network", source_name(e.provenance.network)}};
  object["lead_ns"] = e.lead_ns;
  object["mean_terms_ns"] = terms_json(e.mean_terms);
  object["critical_path"] = path_json(e);
  object["slack_ns"] = e.slack_ns;
  object["why_slower"] = reason_json(e);
  object["waits"] = waits_json(e.waits);
  object["wait_late_peer_ns"] = e.wait_late_peer_ns;
  object["end_waits"] = waits_json(e.end_waits);
  object["stragglers"] = stragglers_json(e);
  object["host"] = e.host_text.empty() ? Json(nullptr) : Json(e.host_text);
  object["edits"] = edits_json(e);
  object["unchanged"] = unchanged_text(e).empty() ? Json(nullptr) : Json(unchanged_text(e));
  object["edits_missing"] = e.edits_missing.empty() ? Json(nullptr) : Json(e.edits_missing);
  return object;
}

}  // namespace

std::string render_json(const Explanation& explanation) {
  Json strategies = Json::array();
  for (const StrategyExplanation& e : explanation.strategies) strategies.push_back(strategy_json(e));
  const Json object{{"schema_version", kSchemaVersionOfExplanations},
                    {"file", explanation.comparison.file},
                    {"config_hash", explanation.comparison.config_hash},
                    {"mode", mode_word(explanation.mode)},
                    {"layer", explanation.layer},
                    {"denoise_step", explanation.denoise_step},
                    {"fastest", explanation.fastest.empty() ? Json(nullptr) : Json(explanation.fastest)},
                    {"strategies", std::move(strategies)}};
  return object.dump(2) + "\n";
}

}  // namespace spscope
