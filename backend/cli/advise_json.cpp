#include "backend/cli/advise_json.h"

#include "backend/cli/build_facts.h"
#include "backend/report/json_result.h"
#include "backend/study/engine_choice.h"
#include "backend/study/weight_layout.h"

namespace spscope {
namespace {

Json id_json(const std::string& id) { return id.empty() ? Json(nullptr) : Json(id); }

Json spread_json(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"mean", spread.mean}, {"least", spread.least}, {"most", spread.most}, {"seeds", spread.count}};
}

Json divisions_json(const Divisions& divisions) {
  Json list = Json::array();
  for (const DivisionTime& t : divisions.times) {
    const bool known = t.end_to_end_ns > 0;
    list.push_back({{"dp", t.setting.dp},
                    {"guidance", t.setting.guidance},
                    {"ranks", t.ranks},
                    {"best", known ? Json(t.best) : Json(nullptr)},
                    {"end_to_end_ns", known ? Json(t.end_to_end_ns) : Json(nullptr)},
                    {"samples_per_hour", known ? Json(t.samples_per_hour) : Json(nullptr)}});
  }
  return list;
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

Json other_json(const std::optional<OtherTime>& other) {
  const bool runs = other && other->end_to_end_ns > 0, has_faster = other && !other->faster.empty();
  if (!runs && !has_faster) return nullptr;
  return {{"text", other->text},
          {"end_to_end_ns", runs ? Json(other->end_to_end_ns) : Json()},
          {"faster", has_faster ? Json(other->faster) : Json()},
          {"faster_end_to_end_ns", has_faster ? Json(other->faster_ns) : Json()}};
}

// By id of those that can run; of plans that are equal to another they are that one's.
Json engines_json(const Advice& advice) {
  Json object = Json::object();
  for (const auto& [id, engines] : advice.engines) {
    object[id] = Json::array();
    for (const std::string_view engine : engines) object[id].push_back(engine);
  }
  return object;
}

}  // namespace

Json advice_json(const Advice& advice, const Job& job, const AdviceFacts& facts, const std::vector<std::string>& next,
                 const Advice* then, const std::string& what_if) {
  std::vector<std::string> sentences;
  for (const AdvicePart& part : advice_sentences(advice, job, facts))
    sentences.push_back(std::get<Paragraph>(part.block).text);
  Json object = {{"schema_version", 1},
                 {"tool_version", kVersion},
                 {"best", fits_in(facts.engine, advice) ? id_json(advice.best()) : Json(nullptr)},
                 {"fastest", id_json(advice.fastest)},
                 {"reference", id_json(advice.reference)},
                 {"argument", advice.chosen.empty() ? Json(nullptr) : Json(advice.argument)},
                 {"speedup", spread_json(advice.speedup)},
                 {"as_fast", texts_json(advice.as_fast)},
                 {"sentences", texts_json(sentences)},
                 {"notes", texts_json(deciding_notes(advice, facts.engine))},
                 {"mask_block", has_sparse_masks(job) ? Json(job.config.mask.block) : Json(nullptr)},
                 {"attention_kernel", id_json(job.cluster.preset.attention_kernel)},
                 {"implementation", id_json(job.cluster.preset.implementation)},
                 {"other_code", other_json(facts.other_code)},
                 {"sparse_masks", other_json(facts.sparse_masks)},
                 {"engine", facts.engine ? Json(facts.engine->id) : Json(nullptr)},
                 {"engines", engines_json(advice)},
                 {"next_commands", texts_json(next)},
                 {"seeds", Json::array()},
                 {"divisions", divisions_json(advice.divisions)},
                 {"what_if", nullptr}};
  for (const std::uint64_t seed : advice.runs.seeds) object["seeds"].push_back(seed);
  object["comparison"] = result_json(advice.runs.together);
  if (then != nullptr)
    object["what_if"] = {{"text", what_if},
                         {"best", id_json(then->best())},
                         {"fastest", id_json(then->fastest)},
                         {"divisions", divisions_json(then->divisions)},
                         {"comparison", result_json(then->runs.together)}};
  return object;
}

}  // namespace spscope
