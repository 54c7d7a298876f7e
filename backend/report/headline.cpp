#include "backend/report/headline.h"

#include <fmt/format.h>

#include "backend/report/format.h"

namespace spscope {
namespace {

// "a800" of the preset "a800x8" or "p4de" of "p4de-xN": the part that names the device.
std::string device_name(const std::string& cluster) {
  const std::size_t x = cluster.rfind('x');
  if (x == std::string::npos || x == 0 || x + 1 == cluster.size()) return cluster;
  const std::string count = cluster.substr(x + 1);
  if (count != "N" && count.find_first_not_of("0123456789") != std::string::npos) return cluster;
  return cluster.substr(0, cluster[x - 1] == '-' ? x - 1 : x);
}

std::string layers_text(const Workload& w) {
  std::string text = fmt::format("{} of {} layers", w.layers, w.model_layers);
  if (w.layers == w.model_layers) text = w.layers == 1 ? "1 layer" : fmt::format("all {} layers", w.layers);
  if (w.denoise_steps > 1) text += fmt::format(" x {} denoise steps", w.denoise_steps);
  return text;
}

std::string ranks_text(const Workload& w) {
  if (w.cluster == "local" || w.cluster.empty()) return fmt::format("{} ranks of this machine", w.ranks);
  std::string text = fmt::format("{} x {}", w.ranks, device_name(w.cluster));
  if (w.nodes > 1) text += fmt::format(" on {} nodes", w.nodes);
  if (w.data_parallel > 1) text += fmt::format(", {} replicas", w.data_parallel);
  return text;
}

const RunProvenance* provenance_of(const ModeGroup& group) {
  for (const StrategyResult* s : group.strategies)
    if (s->provenance) return &*s->provenance;
  return nullptr;
}

bool counted(const ModeGroup& group) {
  for (const StrategyResult* s : group.strategies)
    if (s->provenance && !s->bytes_counted) return false;
  return true;
}

}  // namespace

std::string workload_line(const Workload& w) {
  constexpr double kDense = 0.9995;  // reads as 1.00
  std::string mask = w.pattern;
  if (w.density < kDense) mask += fmt::format("{}density {:.2f}", mask.empty() ? "" : ", ", w.density);
  if (mask.empty()) mask = "dense";
  std::string line = fmt::format("{}, {} tokens, {}, {}, {}", w.model, count_text(static_cast<double>(w.tokens)), mask,
                                 layers_text(w), ranks_text(w));
  if (w.batch > 1) line += fmt::format(", batch {}", w.batch);
  return line;
}

std::string provenance_line(const ModeGroup& group) {
  const RunProvenance* p = provenance_of(group);
  if (!p) return "";
  if (p->compute == Source::kModelled) return "compute modelled, network scheduled";
  if (p->network == Source::kModelled) return "compute measured on CPU, network scheduled";
  return fmt::format("executed on CPU ranks, times measured{}", counted(group) ? ", bytes counted" : "");
}

Badges provenance_badges(const ModeGroup& group) {
  const RunProvenance* p = provenance_of(group);
  Badges badges;
  if (!p) return badges;
  const auto add = [&](std::string text, std::string title, bool modelled) {
    badges.list.push_back({std::move(text), std::move(title), modelled});
  };
  add(std::string(mode_word(group.mode)), "see Measured and modelled", p->network == Source::kModelled);
  const bool modelled_compute = p->compute == Source::kModelled, modelled_network = p->network == Source::kModelled;
  add(modelled_compute ? "compute modelled" : "compute measured",
      modelled_compute ? "calculated from a cost profile" : "timed on a processor", modelled_compute);
  add(modelled_network ? "network scheduled" : "network measured",
      modelled_network ? "calculated from the numbers of a cluster" : "timed while messages moved", modelled_network);
  const bool from_plan = !counted(group);
  add(from_plan ? "bytes of the plan" : "bytes counted",
      from_plan ? "exact, from the plan" : "counted at the communicators", from_plan);
  if (p->timing == Timing::kOversubscribed) add("timing oversubscribed", "ranks x threads exceed the cores", true);
  return badges;
}

}  // namespace spscope
