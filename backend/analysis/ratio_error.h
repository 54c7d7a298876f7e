// How well a model can tell two strategies apart, by kind of machine, and whether any measurement supports what it says
// about a pair.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/analysis/strategy_result.h"

namespace spscope {

enum class MachineKind {
#define RATIO_ERROR(kind, name, median, pairs, sources, guidance, from) k##kind,
#include "backend/analysis/ratio_error.def"
#undef RATIO_ERROR
};

struct RatioError {
  std::string_view name;  // of the kind: "nvlink"
  double median = 0;      // of max(r, 1 / r) - 1, r = predicted ratio / measured ratio
  int pairs = 0, sources = 0;
  double guidance = 0;  // the same between numbers of guidance passes at once
  std::string_view from;
};

// nodes: several of them. cpu: the cluster `local`. pcie: links of at most kPcieGbps. Otherwise nvlink.
MachineKind machine_kind(const Workload& workload, const std::optional<ClusterFigures>& cluster);
inline constexpr double kPcieGbps = 64;  // of PCIe 5.0 x16, one way
// `gpus`: in use by all replicas and guidance passes. What two GPUs exchange over PCIe passes no host bridge that
// others use, so they have an error of their own, kPciePair, which machine_kind() never is.
const RatioError& ratio_error(MachineKind kind, int gpus);

// What why_unmeasured() says of dense plans over PCIe.
inline constexpr std::string_view kHostsOrderAnew =
    "over PCIe with more than two GPUs the order of strategies differs from host to host (docs/accuracy.md)";

// Why no measurement supports the difference between two strategies of a modelled mode: "no one has published times of
// dsp beside other strategies"; "" when one does.
// docs/advice.md has what is published on sparse masks.
std::string why_unmeasured(const Workload& workload, MachineKind kind, const StrategyResult& a,
                           const StrategyResult& b);
// Which assumed numbers the times of one of them rest on; "" when there are none.
std::string assumed_moves(const StrategyResult& a, const StrategyResult& b);

}  // namespace spscope
