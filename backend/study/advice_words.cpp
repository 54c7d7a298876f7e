#include "backend/study/advice_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "backend/analysis/choice_by_pass.h"
#include "backend/analysis/equal_plans.h"
#include "backend/analysis/judgement.h"
#include "backend/analysis/published_errors.h"
#include "backend/analysis/ratio_error.h"
#include "backend/analysis/trust.h"
#include "backend/base/listed.h"
#include "backend/base/number_text.h"
#include "backend/report/conclusion.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"
#include "backend/report/refused.h"
#include "backend/report/section.h"
#include "backend/study/engine_choice.h"
#include "backend/study/engine_words.h"
#include "backend/study/weight_layout.h"

namespace spscope {
namespace {

constexpr double kWorthChoosing = 0.01;  // saved_by_pass() from here on is said without --all

// What is published is that of the chosen plan, beside the fastest, or where it is that, beside the next.
Judgement judgement_of(const Advice& advice) {
  Judgement judgement = judge(by_mode(advice.judged).front());
  if (judgement.ranked.size() < 2 || advice.chosen.empty()) return judgement;
  const StrategyResult &chosen = advice.result(advice.chosen),
                       &other = *judgement.ranked[advice.chosen == advice.fastest];
  judgement.unmeasured = why_unmeasured(advice.judged.workload,
                                        machine_kind(advice.judged.workload, advice.judged.cluster), chosen, other);
  judgement.assumed_moves = assumed_moves(chosen, other);
  return judgement;
}
Judgement judgement_of_candidates(const Advice& advice) { return judge(by_mode(advice.candidates).front()); }

// Plans that are faster than the chosen one beyond the model's error, and that no engine runs, are no candidates.
bool passes_over_the_fastest(const Advice& advice) { return advice.candidates.find(advice.fastest) == nullptr; }

MachineKind kind_of(const Advice& advice) { return machine_kind(advice.judged.workload, advice.judged.cluster); }

std::string sentence_of(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string time_text(std::int64_t ns) { return duration_text(static_cast<double>(ns)); }

// Among more than two GPUs over PCIe, sources contradict each other.
bool hosts_differ(const Advice& advice, int gpus) { return kind_of(advice) == MachineKind::kPcie && gpus > 2; }

// "1280x720" of what the model makes.
std::string size_text(const Model& model) {
  const int side = static_cast<int>(std::lround(std::sqrt(model.pixels_per_token)));
  return fmt::format("{}x{}", model.grid[2] * side, model.grid[1] * side);
}

// " for images of 3072x3072", of a preset whose images have not the usual size.
std::string image_text(const Job& job) {
  constexpr std::string_view kUsual = "1024x1024";
  if (find_model_preset(job.config.model.preset) == nullptr || job.model.output_frames() > 1) return "";
  const std::string size = size_text(job.model);
  return size == kUsual ? "" : " for images of " + size;
}

// How much longer a generation takes, or where the time end to end is not known a layer: 0.088 for 8.8 %.
double ahead_of(const StrategyResult& fastest, const StrategyResult& other) {
  const bool whole = fastest.end_to_end_ns && other.end_to_end_ns;
  const std::int64_t least = whole ? *fastest.end_to_end_ns : *fastest.makespan_ns,
                     time = whole ? *other.end_to_end_ns : *other.makespan_ns;
  return static_cast<double>(time) / static_cast<double>(std::max<std::int64_t>(1, least)) - 1;
}

std::string end_to_end_text(const StrategyResult& s) { return s.end_to_end_ns ? " end to end" : ""; }

std::vector<std::string_view> titles_of(const std::vector<std::string_view>& ids) {
  std::vector<std::string_view> titles;
  for (const std::string_view id : ids) titles.push_back(find_engine(id).title);
  return titles;
}

// "SGLang and xDiT run" of their ids.
std::string titles_run(const std::vector<std::string_view>& ids) {
  return listed(titles_of(ids)) + (ids.size() == 1 ? " runs" : " run");
}

// "ulysses u4, 2 guidance passes at once: 152 s end to end with torch.compile and fa3, and 259 s with the model's own
// uncompiled code and fa2."
std::string what_to_use(const Advice& advice, const Job& job, const AdviceFacts& facts) {
  const StrategyResult& fastest = advice.result(advice.chosen);
  std::string text = fastest.name == "single" ? "one GPU a pass (single)" : own_label(fastest);
  if (advice.division.guidance > 1) text += fmt::format(", {} guidance passes at once", advice.division.guidance);
  if (advice.division.dp > 1) text += fmt::format(", {} replicas", advice.division.dp);
  if (!facts.engine && passes_over_the_fastest(advice))
    text += ", in " + listed(titles_of(advice.engines.at(advice.chosen)), "or");
  text += image_text(job);
  text += fastest.end_to_end_ns ? fmt::format(": {} end to end", time_text(*fastest.end_to_end_ns))
                                : fmt::format(": {} a layer", duration_text(fastest.layer_pass_ns().value_or(0)));
  text += " with " + facts.code;
  if (facts.other_code && fastest.end_to_end_ns) {
    // A kernel that both have is named once.
    std::string other = facts.other_code->text;
    const std::size_t kernel = std::min(other.rfind(" and "), other.size());
    if (facts.code.ends_with(other.substr(kernel))) other.resize(kernel);
    const std::int64_t ns = facts.other_code->end_to_end_ns;
    text += fmt::format("{} with {}", ns > 0 ? ", and " + time_text(ns) : ". It " + facts.other_code->why, other);
  }
  return text + ".";
}

// " With torch.compile and fa3, usp u2 r2 is fastest, with 240 s.", where that is another one; else "".
std::string other_winner(const AdviceFacts& facts) {
  const auto& other = facts.other_code;
  if (!other || other->faster.empty()) return "";
  return fmt::format(" With {}, {} is {}, with {}.", other->text, other->faster.substr(0, other->faster.find(" = ")),
                     other->of_engines ? "the fastest that an engine runs" : "fastest", time_text(other->faster_ns));
}

// " dbsp u4 refine, which no engine runs, would be 8.8 % faster end to end.", of the fastest where it is no candidate.
std::string passed_over(const Advice& advice, const Engine* engine) {
  if (!passes_over_the_fastest(advice)) return "";
  const StrategyResult& fastest = advice.result(advice.fastest);
  return fmt::format(" {}, which {}, would be {} faster{}.", own_label(fastest),
                     engine == nullptr ? "no engine runs" : fmt::format("{} does not run", engine->title),
                     percent_text(ahead_of(fastest, advice.result(advice.chosen))), end_to_end_text(fastest));
}

// That the plan cannot be made to fit in the engine, as far as its sources say.
std::string no_place_sentence(const Advice& advice, const Engine& engine) {
  std::vector<std::string_view> parts;
  for (const EngineFeature part : without_place(engine, advice.result(advice.chosen).memory_need))
    parts.push_back(feature_name(part));
  if (parts.empty()) return "";
  return fmt::format(
      "As far as docs/engines.md knows, this does not fit in {}: it needs {}, and we know no flag for {}.",
      engine.title, listed(parts), parts.size() == 1 ? "that" : "these");
}

std::string headline(const Advice& advice, const Judgement& judgement, const Job& job, const AdviceFacts& facts) {
  std::vector<std::string> refused;
  for (const StrategyResult* s : judgement.refused) refused.push_back(s->name);
  const bool pcie = hosts_differ(advice, facts.gpus);
  const std::string no_place = facts.engine ? no_place_sentence(advice, *facts.engine) : "";
  std::string text = no_place.empty() ? "" : no_place + " ";
  text += pcie ? "Hosts with PCIe differ. " : "";
  if (!refused.empty())
    text += fmt::format("No winner is named, since {} {} asked for and cannot run. The fastest of the others is ",
                        listed(refused), refused.size() == 1 ? "was" : "were");
  else if (!no_place.empty())
    text += pcie ? "On a usual one the fastest, if it fitted, is " : "The fastest, if it fitted, is ";
  else
    text += pcie ? "On a usual one use " : "Use ";
  text += what_to_use(advice, job, facts) + passed_over(advice, facts.engine);
  if (advice.result(advice.chosen).end_to_end_ns) text += other_winner(facts);
  if (pcie)
    text += fmt::format(
        " Measure yours with alltoall_perf -g {0} -b 64M -e 64M and sendrecv_perf -g {0} -b 64M -e 64M of nccl-tests; "
        "docs/advice.md says where their numbers go.",
        facts.gpus);
  return text;
}

// Whether "1.00x" is what is left of it.
bool reads_as_one(double ratio) { return ratio > 0.995 && ratio < 1.005; }

std::string speedup_sentence(const Advice& advice) {
  if (advice.chosen == advice.reference) return "";
  const Spread& s = advice.speedup;
  const StrategyResult &fastest = advice.result(advice.chosen), &reference = advice.result(advice.reference);
  if (reads_as_one(s.mean) || s.mean < 1) return "";  // one that is as fast as the fastest may be the slower one
  std::string text = fmt::format("A layer is {:.2f}x as fast as with {}", s.mean, own_label(reference));
  if (s.count > 1) text += fmt::format(", {:.2f}x to {:.2f}x over {} seeds", s.least, s.most, s.count);
  if (fastest.end_to_end_ns && reference.end_to_end_ns && *fastest.end_to_end_ns > 0)
    text += fmt::format(", and a generation {:.2f}x",
                        static_cast<double>(*reference.end_to_end_ns) / static_cast<double>(*fastest.end_to_end_ns));
  return text + ".";
}

// Of the model, between numbers of guidance passes at once, and between strategies: of a single plan, too.
const RatioError& error_of(const Advice& advice) {
  const Workload& w = advice.judged.workload;
  return ratio_error(kind_of(advice), w.ranks * w.guidance * w.data_parallel);
}

// Which are too close to call, and why the chosen one is named, where it is not the fastest.
std::string tie_sentence(const Advice& advice, const Judgement& judgement, const Engine* engine) {
  // The table says which plans equal them.
  std::vector<std::string> names;
  for (const std::string& label : advice.as_fast) names.push_back(label.substr(0, label.find(" = ")));
  constexpr std::size_t kMost = 3;
  if (const std::size_t count = names.size(); count > kMost) {
    names.resize(1);
    names.push_back(fmt::format("{} more", count - names.size()));
  }
  const std::string limit = limit_text(judgement);
  const auto as_modelled = [&](const StrategyResult* end) { return end == nullptr || runs_as_modelled(*engine, *end); };
  const bool by_engine = engine == nullptr || (as_modelled(judgement.at_low) && as_modelled(judgement.at_high));
  const std::string at_ends = by_engine ? at_ends_words(judgement, OfPasses::kMean) : "";
  const StrategyResult &chosen = advice.result(advice.chosen), &fastest = *judgement.ranked.front();
  if (chosen.id == fastest.id)
    return fmt::format("Too close to call: {} {} slower by less than {}, {}.{}", listed(names),
                       names.size() == 1 ? "is" : "are", limit, judgement.error->from, at_ends);
  const std::string name = own_label(chosen), first = own_label(fastest) + ", the fastest";
  const std::size_t of_chosen = advice.as_modelled(chosen.id, engine).size(),
                    of_fastest = advice.as_modelled(fastest.id, engine).size();
  const std::string why =
      of_chosen <= of_fastest ? fmt::format("More times of {} are published than of {}.", name, first)
      : engine != nullptr     ? fmt::format("{} does not run {}, as it is modelled.", engine->title, first)
      : of_fastest == 0       ? fmt::format("No engine runs {}{}.", first,
                                      advice.engines.at(fastest.id).empty() ? "" : ", as it is modelled")
                              : fmt::format("More engines run {} as it is modelled than {}.", name, first);
  return fmt::format("Too close to call: {} {} from {} by less than {}, {}.{} {}", listed(names),
                     names.size() == 1 ? "differs" : "differ", name, limit, judgement.error->from, at_ends, why);
}

// What the lead over the others is worth.
std::string certainty(const Advice& advice, const Judgement& judgement, const Job& job, const Engine* engine,
                      int gpus) {
  if (judgement.lead == Lead::kDepends)
    return fmt::format("It depends on your hosts: {} is fastest with the fastest network, and {} with the slowest.",
                       own_label(*judgement.at_low), own_label(*judgement.at_high));
  if (!advice.as_fast.empty()) return tie_sentence(advice, judgement, engine);
  if (judgement.ranked.size() < 2) {
    if (passes_over_the_fastest(advice) && engine == nullptr) return "No engine runs another of these plans.";
    if (advice.runs.strategies.size() > 1) return "No other plan can run here.";
    if (advice.runs.together.workload.ranks == 1) {
      const double error = error_of(advice).guidance;
      const std::string tied = tied_divisions_sentence(advice.divisions, error);
      return "One GPU runs each pass. " + (tied.empty() ? next_division_sentence(advice.divisions) : tied);
    }
    const std::string why = engine != nullptr ? why_no_other(*engine, job) : "";
    return why.empty() ? "You named no other strategy to compare it with."
                       : fmt::format("{} runs no other strategy here: {} (docs/engines.md).", engine->title, why);
  }
  const StrategyResult &first = *judgement.ranked[0], &next = *judgement.ranked[1];
  const bool whole = first.end_to_end_ns && next.end_to_end_ns;
  const double ahead = ahead_of(first, next);
  const bool of_engines = engine == nullptr && passes_over_the_fastest(advice);
  const std::string text = fmt::format("The next{}, {}, is slower by {}{}", of_engines ? " that an engine runs" : "",
                                       own_label(next), percent_text(ahead), whole ? " end to end" : " in a layer");
  const std::string record =
      whole && judgement.unmeasured.empty() && judgement.assumed_moves.empty() && judgement.rest_ns == 0
          ? lead_record(kind_of(advice), gpus, ahead)
          : "";
  if (!record.empty()) return text + "; " + record + ".";
  // What nobody has measured is said, and no error of what somebody has.
  if (!judgement.unmeasured.empty() || !judgement.error) return text + ".";
  return fmt::format("{}; {} is {}.", text, percent_text(judgement.error->median), judgement.error->from);
}

// That the ranking rests on assumed times, which every answer says.
std::string assumed_sentence(const Judgement& judgement) {
  return judgement.assumed_moves.empty() ? ""
                                         : "Nobody has measured one-sided transfers of attention. Their times are "
                                           "assumed, and we assume that they slow no compute.";
}

// What is published of differences like this one, and how this one compares.
std::string evidence(const Judgement& judgement) {
  const std::string text = prediction_sentence(judgement, judgement.unmeasured);
  if (text.find("db-SP") == text.npos) return text;
  // As db-SP compared: with the best of the three.
  constexpr std::string_view kCompared[] = {"ulysses", "ring", "usp"};
  const StrategyResult *dbsp = nullptr, *best = nullptr;
  const auto is_first = [](const StrategyResult* other, const StrategyResult* s) {
    return s->end_to_end_ns && (other == nullptr || *s->end_to_end_ns < *other->end_to_end_ns);
  };
  for (const StrategyResult* s : judgement.ranked) {
    if (s->name == "dbsp" && is_first(dbsp, s)) dbsp = s;
    if (std::ranges::find(kCompared, s->name) != std::end(kCompared) && is_first(best, s)) best = s;
  }
  if (dbsp == nullptr || best == nullptr ||
      reads_as_one(static_cast<double>(*best->end_to_end_ns) / static_cast<double>(*dbsp->end_to_end_ns)))
    return text;
  return text + fmt::format(" Here {} is {:.2f}x as fast end to end as {}, the best of Ulysses, ring and USP.",
                            own_label(*dbsp),
                            static_cast<double>(*best->end_to_end_ns) / static_cast<double>(*dbsp->end_to_end_ns),
                            own_label(*best));
}

// Which engines can follow the first sentence, where not every one can, and what to run in the others.
std::string engine_sentence(const Advice& advice, const Judgement& judgement, const Job& job) {
  const StrategyResult& fastest = advice.result(advice.chosen);
  const auto count = [&](const StrategyResult* s) { return advice.engines.at(s->id).size(); };
  // The fastest of those that most engines run.
  const StrategyResult* other = *std::ranges::max_element(judgement.ranked, {}, count);
  if (count(other) == 0) {
    const std::string& pattern = job.config.mask.pattern;
    const auto has = [&](const Engine& e) {
      return std::ranges::count(e.patterns(job.config.model.preset), pattern) > 0;
    };
    const bool masks = has_sparse_masks(job) && job.config.mask.file.empty() && std::ranges::none_of(engines(), has);
    if (masks)
      return fmt::format(
          "No engine of docs/engines.md runs attention with masks of {}, so you cannot run any row as it stands.",
          pattern);
    std::string text = "No engine of docs/engines.md runs any row as it stands.";
    for (const Engine& engine : engines())
      if (const std::string limit = why_no_backend(engine, job); !limit.empty()) text += " " + limit + ".";
    const std::string run = run_division_sentence(advice.divisions);
    return run.empty() ? text : text + " " + run;
  }
  if (count(&fastest) == count(other) || *other->makespan_ns <= *fastest.makespan_ns) return "";
  const std::string runs =
      fmt::format("{} {}, which is slower by {}.", titles_run(advice.engines.at(other->id)), own_label(*other),
                  percent_text(ahead_of(fastest, *other)) + end_to_end_text(fastest));
  if (passes_over_the_fastest(advice)) {  // the first sentence names the engines, the second what comes next
    const std::vector<const StrategyResult*> ranked = judgement_of_candidates(advice).ranked;
    return ranked.size() > 1 && ranked[1]->id == other->id ? "" : runs;
  }
  const bool uneven = has_uneven_heads(advice.judged.workload, fastest);
  return fmt::format("{} only {}{}. {}", uneven ? "Its heads are uneven, which" : "Of engines,",
                     titles_run(advice.engines.at(advice.chosen)), uneven ? "" : " it", runs);
}

// "Sparse masks (--density 0.4) cut a layer from 68.5 ms to 66.6 ms, so the same plan takes 163 s."
std::string sparse_sentence(const Advice& advice, const OtherTime& sparse) {
  const StrategyResult& dense = advice.result(advice.chosen);
  const std::optional<double> dense_ns = dense.layer_pass_ns();
  std::string why = " are no gain: the";
  if (dense_ns && sparse.layer_ns && *sparse.layer_ns < *dense_ns &&
      sparse.end_to_end_ns < dense.end_to_end_ns.value_or(0))
    why = fmt::format(" cut a layer from {} to {}, so the", duration_text(*dense_ns), duration_text(*sparse.layer_ns));
  return fmt::format("Sparse masks ({}){} same plan takes {}.", sparse.flags, why, time_text(sparse.end_to_end_ns));
}

// Why the times are of this kernel, where masks of one's own choose it or do not.
std::string kernel_sentence(const Job& job) {
  const std::string &kernel = job.cluster.preset.attention_kernel, &of_masks = job.config.mask.kernel;
  if (job.config.mask.file.empty() || !job.cluster.layered || job.places.contains("run.attention_kernel")) return "";
  if (kernel == of_masks)
    return fmt::format("Your masks are lists of the kernel {}, so times are of it; --kernel takes another.", kernel);
  return fmt::format("The kernel {} is assumed, since {}.", kernel,
                     of_masks.empty() ? "your masks do not say which one runs them; --kernel does"
                                      : fmt::format("we know no rate of {}, the kernel of your masks, on {}", of_masks,
                                                    job.cluster.preset.gpu));
}

std::vector<std::string> uneven_notes(const Advice& advice) {
  std::vector<const StrategyResult*> strategies;
  for (const StrategyResult& s : advice.judged.strategies) strategies.push_back(&s);
  return uneven_heads_notes(advice.judged.workload, strategies);
}

// "--engine sglang or vllm-omni prints the command that starts it there.", of those that run the chosen plan.
std::string ask_engine_sentence(const Advice& advice) {
  const std::vector<std::string_view>& run = advice.engines.at(advice.chosen);
  return run.empty() ? "" : fmt::format("--engine {} prints the command that starts it there.", listed(run, "or"));
}

void add(std::vector<AdvicePart>& parts, std::string text, int drop, Tone tone = Tone::kConclusion) {
  if (!text.empty()) parts.push_back({Paragraph{std::move(text), tone}, drop});
}

}  // namespace

Spread speedup_over(const SeededRuns& runs, const std::string& id, const std::string& reference) {
  std::vector<double> ratios;
  for (const Comparison& c : runs.by_seed) {
    const StrategyResult *s = c.find(id), *first = c.find(reference);
    if (s && first && s->makespan_ns && first->makespan_ns && *s->makespan_ns > 0)
      ratios.push_back(static_cast<double>(*first->makespan_ns) / static_cast<double>(*s->makespan_ns));
  }
  return spread_of(ratios);
}

std::vector<AdvicePart> advice_sentences(const Advice& advice, const Job& job, const AdviceFacts& facts) {
  std::vector<AdvicePart> parts;
  const Judgement judgement = judgement_of(advice);
  if (judgement.ranked.empty()) {
    add(parts, "Nothing can run here; below are the reasons, and what would.", 0);
    if (facts.engine) add(parts, no_shards_sentence(advice, job, *facts.engine), 0);
    return parts;
  }
  if (judgement.empty_masks) {
    add(parts, "The masks attend nothing (density 0): there is nothing to compare.", 0);
    return parts;
  }
  const double error = error_of(advice).guidance;  // between divisions of the GPUs
  const int replica = facts.gpus / std::max(1, job.cluster.dp);
  // Its guidance passes may have a node each.
  const bool several_nodes = kind_of(advice) != MachineKind::kCpu && replica > job.cluster.gpus_per_node;
  add(parts, headline(advice, judgement, job, facts), 0);
  add(parts, kernel_sentence(job), 0);
  add(parts, certainty(advice, judgement_of_candidates(advice), job, facts.engine, replica), 0);
  // Of a clear lead nothing else says how sure it is.
  const bool clear = advice.as_fast.empty();
  if (clear) add(parts, evidence(judgement), 0);
  add(parts, rate_note(job), 0);
  add(parts, assumed_sentence(judgement), 0);
  if (facts.engine) add(parts, flags_sentence(advice, job, *facts.engine), 0);
  if (facts.engine) add(parts, no_flag_sentence(advice, job, *facts.engine), 0);
  if (facts.engine) add(parts, masks_sentence(advice, job, *facts.engine), 0);
  add(parts, advice.layout, 0);
  add(parts, advice.unsharded, 1);
  if (!facts.engine) {
    const std::string ask = ask_engine_sentence(advice), engines = engine_sentence(advice, judgement, job);
    add(parts, ask + (ask.empty() || engines.empty() ? "" : " ") + engines, 0);
  }
  add(parts, speedup_sentence(advice), 3);
  // The record alone; the first sentence has that hosts differ.
  if (!clear && judgement.unmeasured != kHostsOrderAnew)
    add(parts, prediction_sentence(judgement, judgement.unmeasured), 0);
  if (advice.result(advice.chosen).end_to_end_ns)
    if (std::string record = time_record(several_nodes ? MachineKind::kNodes : kind_of(advice), replica);
        !record.empty())
      add(parts, sentence_of(record + (has_sparse_masks(job) && replica > 1 && !several_nodes ? ", all dense" : "")),
          0);
  add(parts, advice.gather, 2);
  if (facts.sparse_masks) add(parts, sparse_sentence(advice, *facts.sparse_masks), 1);
  // The most samples are no advice where the engine has no room for them.
  const Divisions& divisions = advice.divisions;
  if (!facts.engine || !divisions.timed() ||
      without_place(*facts.engine, divisions.times[divisions.most_samples].memory_need).empty())
    add(parts, throughput_sentence(divisions, error), 4);
  if (judgement.ranked.size() > 1 || advice.judged.workload.ranks > 1)  // else the second sentence says it
    add(parts, tied_divisions_sentence(advice.divisions, error), 5);
  return parts;
}

std::string question_line(const Advice& advice, const Job& job) {
  const Comparison& c = advice.runs.together;
  Workload workload = c.workload;
  if (const Model& model = job.model; find_model_preset(job.config.model.preset) != nullptr) {
    const std::string frames = model.output_frames() > 1 ? fmt::format("{} frames of ", model.output_frames()) : "";
    workload.model += fmt::format(", {}{}", frames, size_text(model));
  }
  std::string line = workload_line(workload, executes(c));
  // Of several nodes the cluster has no name of one machine.
  const ClusterConfig& cluster = job.config.cluster;
  const std::string machine = " x " + device_name(workload.cluster),
                    nodes = fmt::format(" on {} nodes", job.cluster.nodes);
  if (const std::size_t at = line.find(machine);
      job.cluster.nodes > 1 && !job.cluster.preset.gpu.empty() && at != line.npos) {
    if (const std::size_t again = line.find(nodes); again != line.npos) line.erase(again, nodes.size());
    line.replace(at, machine.size(), fmt::format(" x {}{} of {}", job.cluster.preset.gpu, nodes, cluster.preset));
  }
  if (has_sparse_masks(job) && job.places.contains("mask.block"))
    line += fmt::format(", blocks of {} tokens", job.config.mask.block);
  if (c.workload.scope == "layer") line += ", whole layers";
  if (const std::optional<int> steps = c.workload.model_denoise_steps; steps.value_or(1) > 1)
    line += fmt::format(", {} denoise steps", *steps);
  if (advice.runs.seeds.size() > 1) line += fmt::format(", {} seeds", advice.runs.seeds.size());
  return line + ", all times modelled";
}

std::vector<AdvicePart> advice_details(const Advice& advice, const AdviceFacts& facts, bool all) {
  std::vector<AdvicePart> parts;
  Comparison c = advice.judged;
  if (facts.engine != nullptr && !facts.engine->has(EngineFeature::kSharded, c.workload.model))
    for (StrategyResult& s : c.strategies)
      for (Problem& p : s.problems)
        if (p.hint.find("run.weights = sharded") != p.hint.npos)
          p.hint = fmt::format("it fits with sharded weights, of which docs/engines.md knows none in {}",
                               facts.engine->title);
  std::vector<const StrategyResult*> strategies;
  for (const StrategyResult& s : c.strategies) strategies.push_back(&s);
  const StrategyResult* chosen = advice.chosen.empty() ? nullptr : &advice.result(advice.chosen);
  std::string how;
  if (chosen != nullptr)
    how = placing_sentence(chosen->memory_need,
                           facts.engine == nullptr ? advice.engines.at(chosen->id) : std::vector{facts.engine->id});
  add(parts, memory_line(strategies, chosen, how), 0, Tone::kNote);
  const bool of_ring = chosen != nullptr && is_ring(*chosen);
  // Without an engine the table says who runs rings otherwise.
  for (std::string& note : facts.engine == nullptr ? uneven_notes(advice) : deciding_notes(advice, facts.engine))
    add(parts, std::move(note), of_ring && facts.engine != nullptr ? 0 : 1, Tone::kNote);
  if (!advice.chosen.empty()) {
    const StrategyResult& fastest = advice.result(advice.chosen);
    if (fastest.end_to_end_ns && fastest.outside_layers_ns)
      add(parts,
          fmt::format("Each end-to-end time includes {} for text encoder, VAE and saving.",
                      time_text(*fastest.outside_layers_ns)),
          5, Tone::kNote);
  }
  if (const std::string refused = refused_text(strategies); !refused.empty())
    add(parts, "Not possible here: " + refused + ".", advice.chosen.empty() ? 0 : 6, Tone::kNote);
  if (advice.chosen.empty()) return parts;
  const Judgement judgement = judgement_of(advice);
  int reasons = 0;
  for (Sentence& sentence : reason_sentences(judgement, OfPasses::kMean))
    if (all || ++reasons <= 2) parts.push_back({paragraph(std::move(sentence), Tone::kReason), 6 + reasons});
  const bool by_pass = all || saved_by_pass(judgement).value_or(0) >= kWorthChoosing;
  add(parts, by_pass ? by_pass_sentence(judgement) : "", 10, Tone::kNote);
  if (Table table = divisions_table(advice.divisions); all && !table.rows.empty())
    parts.push_back({std::move(table), 9});
  return parts;
}

std::vector<std::string> deciding_notes(const Advice& advice, const Engine* engine) {
  std::vector<std::string> notes = uneven_notes(advice);
  if (const std::string rings = rings_text(advice, engine); !rings.empty()) notes.push_back("In a ring " + rings);
  return notes;
}

Section what_if_section(const Advice& as_it_is, const Advice& then, const WhatIf& what_if) {
  Section section = what_if_section(as_it_is.runs.together, then.runs.together, what_if, OfPasses::kMean);
  if (std::string text = other_division_sentence(as_it_is.divisions, then.divisions, what_if.text); !text.empty())
    section.blocks.push_back(Paragraph{std::move(text), Tone::kConclusion});
  return section;
}

}  // namespace spscope
