// JSON: the machine-readable contract of `run`, `compare` and `plan`. Keys are only ever added;
// schemas/result.schema.json describes them. What is not known is null.
#include <algorithm>
#include <iterator>
#include <map>

#include "backend/analysis/choice_by_pass.h"
#include "backend/analysis/judgement.h"
#include "backend/analysis/trust.h"
#include "backend/base/json.h"
#include "backend/report/conclusion.h"
#include "backend/report/headline.h"
#include "backend/report/json_result.h"
#include "backend/report/render.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

constexpr int kSchemaVersionOfResults = 1;
constexpr const char* kTensors[] = {"q", "k", "v", "o", "hidden", "exchange", "text", "norm", "metadata", "boundary"};

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename T>
Json or_null(const std::vector<T>& list) {
  return list.empty() ? Json(nullptr) : Json(list);
}

Json parameters_json(const Parameters& parameters) {
  Json object = Json::object();
  for (const auto& [name, value] : parameters.values())
    std::visit([&, key = name](const auto& v) { object[key] = v; }, value);
  return object;
}

Json groups_json(const RankMesh& mesh) { return {{"ulysses", mesh.ulysses_groups}, {"ring", mesh.ring_groups}}; }

// Null when it is not known.
Json degree_json(int degree) { return degree > 0 ? Json(degree) : Json(nullptr); }

// The degrees and groups of all layer passes, null where they differ; and every mesh with its layer passes.
Json resolved_json(const StrategyResult& s) {
  if (!s.legal()) return nullptr;
  Json meshes = Json::array();
  for (std::size_t i = 0; i < s.meshes.size(); ++i)
    meshes.push_back({{"ulysses", degree_json(s.meshes[i].ulysses)},
                      {"ring", degree_json(s.meshes[i].ring)},
                      {"groups", groups_json(s.meshes[i])},
                      {"layer_passes", s.passes_of_mesh(i)}});
  Json object{{"ulysses", nullptr}, {"ring", nullptr}, {"rank_map", s.rank_map}, {"groups", nullptr}};
  if (s.meshes.size() == 1) {
    object["ulysses"] = degree_json(s.meshes[0].ulysses);
    object["ring"] = degree_json(s.meshes[0].ring);
    object["groups"] = groups_json(s.meshes[0]);
  }
  object["meshes"] = std::move(meshes);
  return object;
}

Json problems_json(const std::vector<Problem>& problems) {
  Json list = Json::array();
  for (const Problem& p : problems)
    list.push_back({{"id", error_id(p.code)}, {"field", p.field}, {"message", p.message}, {"hint", p.hint}});
  return list;
}

Json provenance_json(const std::optional<RunProvenance>& p) {
  if (!p) return nullptr;
  return {{"compute", source_name(p->compute)}, {"network", source_name(p->network)}};
}

Json spread_json(const std::optional<OverLayers>& spread) {
  if (!spread) return nullptr;
  return {{"min", spread->min}, {"max", spread->max}, {"stddev", spread->stddev}};
}

Json tensors_json(const StrategyResult& s) {
  if (s.bytes_sent.empty()) return nullptr;
  Json object;
  for (const char* tensor : kTensors) {
    const auto found = s.bytes_by_tensor.find(tensor);
    object[tensor] = found == s.bytes_by_tensor.end() ? 0 : found->second;
  }
  return object;
}

// Figures and lists by rank, by name, in this order. A name of both is that of the figure.
void add_figures(const StrategyResult& s, std::initializer_list<std::string_view> names, Json& object) {
  for (const std::string_view name : names) {
    const auto add = [&](const FigureRow& figure, auto of) {
      if (figure.name == name) object[name] = or_null(of(s));
    };
    for_each_rank_figure(add);
    for_each_figure(add);
  }
}

void add_last_figures(const RunFigures& figures, Json& object) {
  for_each_figure([&](const FigureRow& figure, auto of) {
    if (figure.is_last()) object[figure.name] = or_null(of(figures));
  });
}

Json layer_json(const LayerResult& layer) {
  Json object = {{"layer", layer.layer},
                 {"denoise_step", layer.denoise_step},
                 {"mesh", layer.mesh},
                 {"makespan_ns", or_null(layer.makespan_ns)},
                 {"density", or_null(layer.density)},
                 {"tiles", or_null(layer.tiles)},
                 {"imbalance_ratio", or_null(layer.imbalance_ratio)},
                 {"barrier_imbalance_ratio", or_null(layer.barrier_imbalance_ratio)},
                 {"coupled_imbalance_ratio", or_null(layer.coupled_imbalance_ratio)},
                 {"planned_imbalance_ratio", or_null(layer.planned_imbalance_ratio)},
                 {"decided", or_null(layer.decided)},
                 {"verify", layer.verify},
                 {"max_error", or_null(layer.max_error)},
                 {"slowest_rank", or_null(layer.slowest_rank)},
                 {"slowest_excess", or_null(layer.slowest_excess)}};
  add_last_figures(layer, object);
  return object;
}

Json pick_json(const std::optional<StrategyPick>& pick) {
  if (!pick) return nullptr;
  const bool has_next = !pick->next_label.empty();
  return {{"settings", pick->settings},
          {"predicted_ns", pick->settings > 0 ? Json(pick->predicted_ns) : Json(nullptr)},
          {"next_label", has_next ? Json(pick->next_label) : Json(nullptr)},
          {"next_ns", has_next ? Json(pick->next_ns) : Json(nullptr)}};
}

void add_identity(const StrategyResult& s, Json& object) {
  object["id"] = s.id;
  object["name"] = s.name;
  object["label"] = s.label;
  object["parameters"] = parameters_json(s.parameters);
  object["resolved"] = resolved_json(s);
  object["legal"] = s.legal();
  object["reason"] = s.legal() ? Json(nullptr) : Json(s.reason());
  object["problems"] = problems_json(s.problems);
  object["pick"] = pick_json(s.pick);
  object["mode"] = choice_name(s.mode);
  object["device"] = s.device;
  object["backend"] = s.backend;
}

void add_times(const StrategyResult& s, Json& object) {
  object["provenance"] = provenance_json(s.provenance);
  object["timing"] = s.provenance ? Json(timing_name(s.provenance->timing)) : Json(nullptr);
  object["repeats"] = s.repeats;
  add_figures(s,
              {"makespan_ns", "makespan_spread_ns", "makespan_low_ns", "makespan_high_ns", "attention_ns",
               "end_to_end_ns", "end_to_end_spread_ns", "samples_per_hour"},
              object);
  object["over_layers"] = {{"makespan_ns", spread_json(s.over_layers.makespan_ns)},
                           {"speedup", spread_json(s.over_layers.speedup)},
                           {"imbalance_ratio", spread_json(s.over_layers.imbalance_ratio)},
                           {"barrier_imbalance_ratio", spread_json(s.over_layers.barrier_imbalance_ratio)},
                           {"coupled_imbalance_ratio", spread_json(s.over_layers.coupled_imbalance_ratio)}};
  object["outside_layers_ns"] = or_null(s.end_to_end_ns ? s.outside_layers_ns : std::nullopt);
  add_figures(s, {"speedup", "bound_ns", "compute_scale", "compute_deviation"}, object);
  object["disturbed"] = s.compute_deviation ? Json(!disturbance(s).empty()) : Json(nullptr);
  add_figures(s, {"imbalance_ratio", "barrier_imbalance_ratio", "coupled_imbalance_ratio", "planned_imbalance_ratio"},
              object);
  object["replans"] = or_null(s.replans);
}

Json memory_json(const MemoryNeed& need) {
  if (need.ranks.empty()) return nullptr;
  Json ranks = Json::array();
  for (const RankMemory& rank : need.ranks)
    ranks.push_back({{"activations", rank.activations},
                     {"weights", rank.weights},
                     {"staging", rank.staging},
                     {"reserved", rank.reserved},
                     {"text_encoder", rank.text_encoder},
                     {"other", rank.other}});
  return {{"limit_bytes", need.limit > 0 ? Json(need.limit) : Json(nullptr)},
          {"fits", need.fits()},
          {"verdict", need.limit > 0 ? Json(verdict_name(need.verdict())) : Json(nullptr)},
          {"margin_bytes", need.limit > 0 ? Json(need.margin()) : Json(nullptr)},
          {"tight", need.tight()},
          {"not_counted",
           {{"text_encoder", need.uncounted.text_encoder_unknown ? Json(nullptr) : Json(need.uncounted.text_encoder)},
            {"vae", need.uncounted.vae_unknown ? Json(nullptr) : Json(need.vae_bytes())}}},
          {"bytes_by_rank", std::move(ranks)}};
}

Json reason_json(const StrategyResult& s, const Judgement& judgement) {
  const std::optional<Reason> reason = judgement.reason(s);
  if (!reason) return nullptr;
  Json late = nullptr;
  if (const auto& l = reason->late)
    late = {{"rank", l->rank},
            {"share", l->share},
            {"more_tiles", l->more_tiles},
            {"more_compute", l->more_compute},
            {"heads", l->heads.empty() ? Json(nullptr) : Json(l->heads)},
            {"ring_step", l->ring_step > 0 ? Json(l->ring_step) : Json(nullptr)}};
  Json object{{"than", reason->than},
              {"difference_ns", reason->difference_ns},
              {"terms_ns", terms_json(reason->terms)},
              {"along_path", reason->along_path},
              {"late_rank", std::move(late)},
              {"text", reason_text(*reason, s, *judgement.ranked.front())}};
  add_causes(*reason, object);
  return object;
}

void add_reasons(const StrategyResult& s, const Judgement& judgement, Json& object) {
  object["terms_ns"] = s.terms ? terms_json(*s.terms) : Json(nullptr);
  object["path_terms_ns"] = s.path_terms ? terms_json(*s.path_terms) : Json(nullptr);
  add_figures(s, {"waited_for_ns"}, object);
  constexpr std::size_t kMostWaits = 256;  // the longest ones
  object["rank_waits"] =
      s.terms ? waits_json(std::span(s.rank_waits).first(std::min(kMostWaits, s.rank_waits.size()))) : Json(nullptr);
  object["heads_by_rank"] = or_null(s.heads_by_rank);
  add_figures(s, {"attention_launches"}, object);
  object["why_slower"] = reason_json(s, judgement);
}

// What can be said of the strategies of a mode.
Json verdict_json(const ModeGroup& group, const Judgement& j) {
  Json level = Json::array(), refused = Json::array();
  for (std::size_t i = 0; i < static_cast<std::size_t>(j.level); ++i) level.push_back(j.ranked[i]->id);
  for (const StrategyResult* s : j.refused) refused.push_back(s->id);
  Json error = nullptr;
  if (j.error)
    error = {{"machine", j.error->name},    {"median", j.error->median}, {"pairs", j.error->pairs},
             {"sources", j.error->sources}, {"from", j.error->from},     {"rest_of_layer_ns", j.rest_ns}};
  return {{"mode", choice_name(group.mode)},
          {"lead", lead_name(j.lead)},
          {"fastest", j.lead == Lead::kUnknown ? Json(nullptr) : Json(j.ranked.front()->id)},
          {"winner", j.winner() ? Json(j.winner()->id) : Json(nullptr)},
          {"fastest_at_low", j.at_low ? Json(j.at_low->id) : Json(nullptr)},
          {"fastest_at_high", j.at_high ? Json(j.at_high->id) : Json(nullptr)},
          {"not_told_apart", std::move(level)},
          {"refused", std::move(refused)},
          {"disturbance", j.disturbance.empty() ? Json(nullptr) : Json(j.disturbance)},
          {"ratio_error", std::move(error)},
          {"saved_by_pass", or_null(saved_by_pass(j))},
          {"unmeasured", unmeasured_text(j).empty() ? Json(nullptr) : Json(unmeasured_text(j))}};
}

Json strategy_json(const StrategyResult& s, const Judgement& judgement) {
  Json object;
  add_identity(s, object);
  add_times(s, object);
  add_figures(s, {"bytes_sent", "bytes_sent_intra_node", "bytes_sent_inter_node", "bytes_received"}, object);
  object["bytes_by_tensor"] = tensors_json(s);
  add_figures(s,
              {"messages", "tiles", "tiles_redundant", "moved_fraction", "compute_ns", "wait_late_peer_ns", "wire_ns",
               "other_ns", "exposed_comm_ns", "planning_ns", "memory_peak_bytes"},
              object);
  object["memory_need"] = memory_json(s.memory_need);
  add_figures(s, {"parameter_bytes"}, object);
  object["verify"] = s.verify;
  object["max_error"] = or_null(s.max_error);
  object["error_metric"] = s.error_metric.empty() ? Json(nullptr) : Json(s.error_metric);
  object["by_layer"] = Json::array();
  for (const LayerResult& layer : s.by_layer) object["by_layer"].push_back(layer_json(layer));
  add_reasons(s, judgement, object);
  add_last_figures(s, object);
  return object;
}

Json workload_json(const Workload& w) {
  return {{"tokens", w.tokens},
          {"blocks", w.blocks},
          {"density", or_null(w.density)},
          {"batch", w.batch},
          {"layers", w.layers},
          {"denoise_steps", w.denoise_steps},
          {"model", w.model},
          {"pattern", w.pattern},
          {"cluster", w.cluster},
          {"ranks", w.ranks},
          {"nodes", w.nodes},
          {"scope", w.scope},
          {"dtype", dtype_name(w.dtype)},
          {"model_layers", w.model_layers},
          {"forward_passes", w.forward_passes},
          {"guidance", w.guidance},
          {"data_parallel", w.data_parallel},
          {"combine_bytes", w.combine_bytes},
          {"combine_ns", w.combine_ns},
          {"layer_passes", w.layer_passes()},
          {"layer_passes_done", or_null(w.layer_passes_done)}};
}

}  // namespace

Json terms_json(const TimeTerms& terms) {
  Json object = Json::object();
  for (int i = 0; i < kNumTimeTerms; ++i)
    object[time_term_rows()[static_cast<std::size_t>(i)].key] = terms[static_cast<TimeTerm>(i)];
  return object;
}

void add_causes(const Reason& reason, Json& object) {
  object["cause"] = cause_name(reason.cause());
  object["cause_ns"] = reason.removed_ns;
  for (const Cause cause : reason.causes) object["causes"].push_back(cause_name(cause));
  object["shares"] = reason.shares;
  object["shared"] = reason.shared();
}

Json waits_json(std::span<const RankWait> waits) {
  Json list = Json::array();
  for (const RankWait& w : waits)
    list.push_back({{"rank", w.rank},
                    {"late_rank", w.late_rank},
                    {"collective", w.collective},
                    {"ring_step", w.ring_step},
                    {"wait_ns", w.wait_ns}});
  return list;
}

Json result_json(const Comparison& c) {
  Json machine = Json::object();
  for (const MachineLine& line : c.machine) machine[line.name] = line.value;
  Json object = {{"schema_version", kSchemaVersionOfResults},
                 {"tool_version", c.tool_version},
                 {"machine", std::move(machine)},
                 {"config_hash", c.config_hash},
                 {"workload", workload_json(c.workload)},
                 {"strategies", Json::array()}};
  const Recording& r = c.recording;
  Json incidents = Json::array();
  for (const Sentence& incident : r.incidents) incidents.push_back(incident.text);
  object["recording"] = {{"events_sent", r.events_sent},
                         {"events_stored", r.events_stored},
                         {"dropped", r.dropped},
                         {"unreadable", r.unreadable},
                         {"lost", r.lost},
                         {"incidents", std::move(incidents)}};
  const std::string nothing = nothing_finished_text(c);
  object["nothing_finished"] = nothing.empty() ? Json(nullptr) : Json(nothing);
  std::map<RunMode, Judgement> judgements;
  object["verdicts"] = Json::array();
  for (const ModeGroup& group : by_mode(c)) {
    const Judgement& judgement = judgements.emplace(group.mode, judge(group)).first->second;
    object["verdicts"].push_back(verdict_json(group, judgement));
  }
  for (const StrategyResult& s : c.strategies) {
    object["strategies"].push_back(strategy_json(s, judgements.at(s.mode)));
    object["strategies"].back()["uneven_heads"] = s.legal() ? Json(has_uneven_heads(c.workload, s)) : Json(nullptr);
  }
  return object;
}

namespace {

Json changes_json(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const Change& c : changes) {
    Json parts = nullptr;
    if (c.parts_ns)
      for (std::size_t i = 0; i < kNumTimeColumns; ++i)
        parts[std::string(kTimeParts[i].metric) + "_ns"] = (*c.parts_ns)[i];
    list.push_back({{"label", c.label},
                    {"label_before", c.label_before.empty() ? Json(nullptr) : Json(c.label_before)},
                    {"label_after", c.label_after.empty() ? Json(nullptr) : Json(c.label_after)},
                    {"before_ns", or_null(c.before_ns)},
                    {"after_ns", or_null(c.after_ns)},
                    {"slower_by", or_null(c.slower_by)},
                    {"parts", std::move(parts)},
                    {"regression", c.regression},
                    {"comparable", c.comparable},
                    {"why", c.why.empty() ? Json(nullptr) : Json(c.why)},
                    {"note", c.note}});
  }
  return list;
}

Json settings_json(const std::vector<ChangedSetting>& settings) {
  const auto value = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json list = Json::array();
  for (const ChangedSetting& s : settings)
    list.push_back({{"key", s.key}, {"before", value(s.before)}, {"after", value(s.after)}});
  return list;
}

}  // namespace

std::string render_json(std::span<const Comparison> comparisons, const std::vector<Change>* changes,
                        const std::vector<ChangedSetting>* settings) {
  Json object;
  if (comparisons.size() == 1) {
    object = result_json(comparisons.front());
  } else {
    object = {{"schema_version", kSchemaVersionOfResults}, {"comparisons", Json::array()}};
    for (const Comparison& c : comparisons) {
      object["comparisons"].push_back(result_json(c));
      object["comparisons"].back()["file"] = c.file;
    }
  }
  if (changes) object["changes"] = changes_json(*changes);
  if (settings) object["settings_changed"] = settings_json(*settings);
  // Names come from files: bytes that are not UTF-8 are replaced.
  return object.dump(2) + "\n";
}

std::string render_json(const Error& error) {
  std::vector<Problem> problems = error.problems();
  if (problems.empty()) problems.push_back({error.code(), "", error.what(), error.hint(), {}});
  const auto known = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json list = Json::array();
  for (const Problem& p : problems)
    list.push_back({{"code", error_id(p.code)},
                    {"field", known(p.field)},
                    {"message", p.message},
                    {"hint", known(p.hint)},
                    {"file", known(p.place.file)},
                    {"line", p.place.line > 0 ? Json(p.place.line) : Json(nullptr)},
                    {"column", p.place.line > 0 ? Json(p.place.column) : Json(nullptr)}});
  return Json{{"problems", std::move(list)}}.dump(2) + "\n";
}

}  // namespace spscope
