#include "backend/report/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "backend/analysis/judgement.h"
#include "backend/analysis/trust.h"
#include "backend/base/listed.h"
#include "backend/report/format.h"

namespace spscope {
namespace {

std::string layers_text(const Workload& w) {
  if (w.interrupted())
    return fmt::format("{} of {} layer passes", count_text(*w.layer_passes_done), count_text(w.layer_passes()));
  std::string text = fmt::format("{} of {} layers", w.layers, w.model_layers);
  if (w.layers == w.model_layers) text = w.layers == 1 ? "1 layer" : fmt::format("all {} layers", w.layers);
  if (w.denoise_steps > 1) text += fmt::format(" x {} denoise steps", w.denoise_steps);
  return text;
}

// "4 replicas of 2 guidance passes at once"; "" where all ranks work on one pass.
std::string division_text(const Workload& w) {
  std::string text;
  if (w.data_parallel > 1) text = fmt::format("{} replicas", w.data_parallel);
  if (w.guidance > 1)
    text += fmt::format("{}{} guidance passes at once", w.data_parallel > 1 ? " of " : "", w.guidance);
  return text;
}

std::string ranks_text(const Workload& w, bool executed) {
  const bool local = w.cluster == "local" || w.cluster.empty();
  const std::string division = division_text(w);
  // Of other modes the workload's ranks are those of one pass, which every other one repeats.
  const bool repeated = !executed && !division.empty();
  const int ranks = repeated ? w.ranks * w.guidance * w.data_parallel : w.ranks;
  std::string text = local ? fmt::format("{} ranks of this machine", ranks) : ranks_on(ranks, w.cluster);
  if (repeated) text += fmt::format(" as {}, each of {} rank{}", division, w.ranks, w.ranks == 1 ? "" : "s");
  if (w.nodes > 1 && !local) text += fmt::format(" on {} nodes", w.nodes);
  if (!repeated && w.guidance > 1) text += fmt::format(", {} guidance passes at once", w.guidance);
  if (!repeated && w.data_parallel > 1) text += fmt::format(", one of {} replicas", w.data_parallel);
  return text;
}

const RunProvenance* provenance_of(const ModeGroup& group) {
  for (const StrategyResult* s : group.strategies)
    if (s->provenance) return &*s->provenance;
  return nullptr;
}

// Whether no output of the mode was compared with a reference.
bool unchecked(const ModeGroup& group) {
  return std::ranges::all_of(group.strategies, [](const StrategyResult* s) { return s->verify == "skipped"; });
}

bool counted(const ModeGroup& group) {
  for (const StrategyResult* s : group.strategies)
    if (s->provenance && !s->bytes_counted) return false;
  return true;
}

// Two significant digits: 347 reads as 350.
std::string rounded(double factor) {
  const double unit = std::pow(10, std::floor(std::log10(factor)) - 1);
  const double value = std::round(factor / unit) * unit;
  return fmt::format("{:.{}f}", value, value < 10 ? 1 : 0);
}

// "interrupted: the run was stopped by SIGINT", without the kind, which the headline has already.
Sentence without_kind(const Sentence& incident, bool is_said) {
  constexpr std::string_view kKind = "interrupted: ";
  return is_said && incident.text.starts_with(kKind) ? Sentence{incident.text.substr(kKind.size())} : incident;
}

}  // namespace

std::string device_word(const ModeGroup& group) {
  const auto timed =
      std::ranges::find_if(group.strategies, [](const StrategyResult* s) { return s->provenance.has_value(); });
  std::string word = timed != group.strategies.end() ? (*timed)->device : "";
  if (word == "cuda") return "GPU";
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return word;
}

std::string device_text(const ModeGroup& group) {
  const std::string word = device_word(group);
  if (word != "GPU") return word;
  std::vector<std::string> names;
  for (const MachineLine& line : group.of->machine) {
    if (!line.name.starts_with("GPU ")) continue;
    std::string name = line.value.substr(0, line.value.find(", compute capability"));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names.empty() ? word : listed(names);
}

std::string missing_events_text(const Recording& recording) {
  if (recording.events_missing() == 0) return "";
  std::string why;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0)
      why += fmt::format("{}{} {}", why.empty() ? ": " : ", ", count_text(static_cast<double>(count)), what);
  };
  add(recording.dropped, "dropped");
  add(recording.unreadable, "unreadable");
  add(recording.lost, "lost");
  return fmt::format("{} of {} events are not in the file{}",
                     count_text(static_cast<double>(recording.events_missing())),
                     count_text(static_cast<double>(recording.events_sent)), why);
}

std::string nothing_finished_text(const Comparison& comparison) {
  if (comparison.workload.layer_passes_done != 0) return "";
  return fmt::format("no layer was finished by every strategy, so there is nothing to compare; {} events are kept",
                     count_text(static_cast<double>(comparison.recording.events_stored)));
}

std::string foreign_compute_note(const ModeGroup& group) {
  double sum = 0;
  int count = 0;
  for (const StrategyResult* s : group.strategies)
    if (foreign_compute(*s, group.of->workload)) sum += std::log(*s->compute_scale), ++count;
  if (count == 0) return "";
  const double scale = std::exp(sum / count);
  const bool slower = scale > 1;
  return fmt::format(
      "compute was timed on this {}, about {}x {} than the cost model of {}, so communication looks too {}; run.mode = "
      "\"simulate\" models both",
      device_text(group), rounded(slower ? scale : 1 / scale), slower ? "slower" : "faster",
      device_name(group.of->workload.cluster), slower ? "cheap" : "expensive");
}

std::vector<Sentence> headline_warnings(const Comparison& comparison) {
  std::vector<Sentence> warnings;
  const Workload& w = comparison.workload;
  if (std::string text = nothing_finished_text(comparison); !text.empty())
    warnings.push_back({std::move(text)});
  else if (w.interrupted())
    warnings.push_back({fmt::format("interrupted after {} of {} layer passes, and figures cover only those",
                                    count_text(*w.layer_passes_done), count_text(w.layer_passes()))});
  const Recording& recording = comparison.recording;
  if (std::string text = missing_events_text(recording); !text.empty()) warnings.push_back({std::move(text)});
  if (const std::size_t count = recording.incidents.size(); count > 0)
    warnings.push_back(SentenceBuilder()
                           .add(without_kind(recording.incidents.front(), w.interrupted()))
                           .add(count > 1 ? fmt::format(" (and {} more)", count - 1) : "")
                           .take());
  for (const ModeGroup& group : by_mode(comparison))
    if (std::string note = foreign_compute_note(group); !note.empty()) warnings.push_back({std::move(note)});
  return warnings;
}

std::vector<std::string> timing_warnings(const ModeGroup& group) {
  std::vector<std::string> warnings;
  const bool is_checked = std::ranges::any_of(
      group.strategies, [](const StrategyResult* s) { return s->verify == "passed" || s->verify == "failed"; });
  if (std::ranges::any_of(group.strategies, [](const StrategyResult* s) { return oversubscribed(*s); }))
    warnings.push_back(fmt::format(
        "This machine has fewer {} than ranks, so times are not comparable and no speed-up is shown. {}For comparable "
        "times use run.mode = \"project\", which models the network, or \"simulate\", which models compute too.",
        device_word(group) == "GPU" ? "GPUs" : "cores", is_checked ? "Outputs and bytes are still checked. " : ""));
  const Judgement judgement = judge(group);
  if (judgement.empty_masks)
    warnings.emplace_back(
        "The masks have no active block: no query attends to a key, and every output is 0. No winner is named. Check "
        "how the mask was made (spscope mask info FILE).");
  if (!judgement.disturbance.empty())
    warnings.push_back("The machine was busy, so no winner is named: " + judgement.disturbance + ". Run it again.");
  return warnings;
}

bool executes(const Comparison& comparison) {
  return std::ranges::any_of(comparison.strategies, [](const StrategyResult& s) {
    return s.mode == RunMode::kExecute && s.provenance && s.provenance->network == Source::kMeasured;
  });
}

std::string workload_line(const Workload& w, bool executed) {
  constexpr double kDense = 0.9995;  // reads as 1.00
  const bool all_pairs = w.density && *w.density >= kDense && !w.pattern.starts_with("file ");
  std::string mask = all_pairs ? "dense" : w.pattern;
  if (w.density && *w.density < kDense) mask += fmt::format("{}density {:.2f}", mask.empty() ? "" : ", ", *w.density);
  if (mask.empty()) mask = "dense";
  std::string line = fmt::format("{}, {} tokens, {}, {}, {}", w.model, count_text(static_cast<double>(w.tokens)), mask,
                                 layers_text(w), ranks_text(w, executed));
  if (w.batch > 1) line += fmt::format(", batch {}", w.batch);
  return line;
}

std::string provenance_line(const ModeGroup& group) {
  const RunProvenance* p = provenance_of(group);
  if (!p) return "";
  const std::string outputs = unchecked(group) ? ", outputs not checked" : "";
  if (p->compute == Source::kModelled) return "compute modelled, network scheduled" + outputs;
  if (p->network == Source::kModelled)
    return fmt::format("compute measured on {}, network scheduled{}", device_text(group), outputs);
  return fmt::format("executed on {} ranks, times measured{}{}", device_text(group),
                     counted(group) ? ", bytes counted" : "", outputs);
}

Badges provenance_badges(const ModeGroup& group) {
  const RunProvenance* p = provenance_of(group);
  Badges badges;
  if (!p) return badges;
  const auto add = [&](std::string text, std::string title, bool modelled) {
    badges.list.push_back({std::move(text), std::move(title), modelled});
  };
  add(std::string(mode_word(group.mode)), "see Measured and modelled", p->network == Source::kModelled);
  const bool is_gpu = device_word(group) == "GPU";
  const bool modelled_compute = p->compute == Source::kModelled, modelled_network = p->network == Source::kModelled;
  add(modelled_compute ? "compute modelled" : "compute measured",
      modelled_compute ? "calculated from a cost profile" : "timed on " + (is_gpu ? device_text(group) : "a processor"),
      modelled_compute);
  add(modelled_network ? "network scheduled" : "network measured",
      modelled_network ? "calculated from the numbers of a cluster" : "timed while messages moved", modelled_network);
  const bool from_plan = !counted(group);
  add(from_plan ? "bytes of the plan" : "bytes counted",
      from_plan ? "exact, from the plan" : "counted at the communicators", from_plan);
  if (p->timing == Timing::kOversubscribed)
    add("timing oversubscribed", is_gpu ? "ranks share a GPU" : "ranks and their threads exceed the cores", true);
  return badges;
}

}  // namespace spscope
