#include "backend/analysis/ratio_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "backend/analysis/reason.h"
#include "backend/base/listed.h"

namespace spscope {
namespace {

// Strategies that published times of several GPUs are of, bench/measured/end_to_end.csv.
constexpr std::string_view kPublished[] = {"ulysses", "ring", "usp", "allgather_kv"};

struct SparseRecord {
  std::string_view strategy;
  int runs, near, held;
  double published, predicted;
};
constexpr SparseRecord kSparse[] = {
#define SPARSE(strategy, runs, near, held, published, predicted) {#strategy, runs, near, held, published, predicted},
#include "backend/analysis/sparse_records.def"
#undef SPARSE
};

// What is published of these two on sparse masks inside a node with NVLink, and for which of them nothing is.
std::string sparse_record(std::string_view a, std::string_view b) {
  std::vector<std::string> names = {std::string(a), std::string(b)}, published, predicted, unknown;
  if (a == b) names.pop_back();
  std::erase(names, "ulysses");
  if (names.empty()) return "nobody has published times of two settings of ulysses on sparse masks";
  SparseRecord sum{};
  for (const std::string& name : names) {
    const auto found = std::ranges::find(kSparse, name, &SparseRecord::strategy);
    if (found == std::end(kSparse)) {
      unknown.push_back(name);
      continue;
    }
    published.push_back(fmt::format("{} {:.2f}x", name, found->published));
    predicted.push_back(fmt::format("{:.2f}x", found->predicted));
    sum.runs += found->runs, sum.near += found->near, sum.held += found->held;
  }
  std::string text;
  if (!published.empty())
    text = fmt::format(
        "db-SP measured attention with {} as fast as with Ulysses on average; for its runs the model says {} ({} of {} "
        "within 10 %"
        "{}, docs/accuracy.md)",
        listed(published), listed(predicted), sum.near, sum.runs,
        sum.held > 0 ? fmt::format(" and {} more in its range", sum.held) : "");
  if (!unknown.empty())
    text +=
        fmt::format("{}obody has published times of {} on sparse masks", text.empty() ? "n" : ". N", listed(unknown));
  return text;
}

}  // namespace

MachineKind machine_kind(const Workload& workload, const std::optional<ClusterFigures>& cluster) {
  if (workload.cluster == "local") return MachineKind::kCpu;
  if (workload.nodes > 1) return MachineKind::kNodes;
  return cluster && cluster->link_gbps > 0 && cluster->link_gbps <= kPcieGbps ? MachineKind::kPcie
                                                                              : MachineKind::kNvlink;
}

const RatioError& ratio_error(MachineKind kind, int gpus) {
  if (kind == MachineKind::kPcie && gpus <= 2) kind = MachineKind::kPciePair;
  static constexpr RatioError table[] = {
#define RATIO_ERROR(kind, name, median, pairs, sources, guidance, from) {name, median, pairs, sources, guidance, from},
#include "backend/analysis/ratio_error.def"
#undef RATIO_ERROR
  };
  return table[static_cast<std::size_t>(kind)];
}

namespace {

bool pulls_and_pushes(const StrategyResult& s) {
  return s.parameters.has("comm") && s.parameters.text("comm") == "one_sided";
}

}  // namespace

std::string why_unmeasured(const Workload& workload, MachineKind kind, const StrategyResult& a,
                           const StrategyResult& b) {
  constexpr double kDense = 0.9995;  // reads as 1.00
  if (kind == MachineKind::kCpu) return "";
  if (workload.ranks > 1 && workload.density.value_or(1) < kDense) {
    if (kind != MachineKind::kNvlink)
      return "only db-SP has compared strategies on sparse masks, and over NVLink (arXiv 2511.23113)";
    return sparse_record(a.name, b.name);
  }
  if (kind == MachineKind::kNodes) return "no published source has times of two strategies on several nodes";
  for (const StrategyResult* s : {&a, &b})
    if (workload.ranks > 1 && std::ranges::find(kPublished, s->name) == std::end(kPublished))
      return s->name == "dbsp"  ? "db-SP has published times of dbsp on sparse masks only"
             : s->name == "dsp" ? "the one published time of dsp beside ulysses (22 s and 45 s on 8 x H800, "
                                  "NUS-HPC-AI-Lab/VideoSys docs/dsp.md) does not state its steps"
                                : fmt::format("no one has published times of {} beside other strategies", s->name);
  if (kind == MachineKind::kPcie && workload.ranks > 2 && a.name != b.name) return std::string(kHostsOrderAnew);
  const bool a_is_faster = a.makespan_ns.value_or(0) <= b.makespan_ns.value_or(0);
  const std::optional<Reason> reason = a_is_faster ? reason_for(b, a) : reason_for(a, b);
  if (reason && reason->cause() == Cause::kLateRank && a.name == b.name)
    return "they differ only in load balance, for which no GPU measurement is published";
  return "";
}

std::string assumed_moves(const StrategyResult& a, const StrategyResult& b) {
  if (!pulls_and_pushes(a) && !pulls_and_pushes(b)) return "";
  return fmt::format(
      "pulls and pushes of {} take the assumed times of [network.one_sided] and are assumed to slow no compute",
      pulls_and_pushes(a) ? a.label : b.label);
}

}  // namespace spscope
