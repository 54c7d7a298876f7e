#include "backend/analysis/published_errors.h"

#include <fmt/format.h>

#include "backend/base/number_text.h"

namespace spscope {
namespace {

struct LeadRow {
  MachineKind kind;
  int gpus, most_gpus;
  double from, below;
  int right, pairs;
};
constexpr LeadRow kLeads[] = {
#define LEAD(kind, gpus, most_gpus, from, below, right, pairs) \
  {MachineKind::k##kind, gpus, most_gpus, from, below, right, pairs},
#define RUNS(kind, gpus, most_gpus, median, runs)
#include "backend/analysis/published_errors.def"
#undef RUNS
#undef LEAD
};

struct RunsRow {
  MachineKind kind;
  int gpus, most_gpus;
  double median;
  int runs;
};
constexpr RunsRow kRuns[] = {
#define LEAD(kind, gpus, most_gpus, from, below, right, pairs)
#define RUNS(kind, gpus, most_gpus, median, runs) {MachineKind::k##kind, gpus, most_gpus, median, runs},
#include "backend/analysis/published_errors.def"
#undef RUNS
#undef LEAD
};

constexpr int kFewPairs = 5;
constexpr int kMostGpus = 1024;  // of the last group

std::string_view link_name(MachineKind kind) { return kind == MachineKind::kPcie ? "PCIe" : "NVLink"; }

std::string gpus_text(int least, int most) {
  if (least == most) return least == 1 ? "one GPU" : fmt::format("{} GPUs", least);
  return most == kMostGpus ? fmt::format("more than {} GPUs", least - 1) : fmt::format("{} to {} GPUs", least, most);
}

std::string band_text(double from, double below) {
  if (from == 0) return fmt::format("below {:.0f} %", 100 * below);
  return below > 1 ? fmt::format("above {:.0f} %", 100 * from)
                   : fmt::format("of {:.0f} to {:.0f} %", 100 * from, 100 * below);
}

}  // namespace

std::string lead_record(MachineKind kind, int gpus, double lead) {
  LeadRow own{kind, 0, 0, 0, 0, 0, 0}, all = own;
  for (const LeadRow& row : kLeads) {
    if (row.kind != kind || lead < row.from || lead >= row.below) continue;
    if (gpus >= row.gpus && gpus <= row.most_gpus) own = row;
    if (kind == MachineKind::kPcie && (row.gpus > 2) != (gpus > 2)) continue;
    all.from = row.from, all.below = row.below;
    all.right += row.right, all.pairs += row.pairs;
  }
  const bool few = own.pairs < kFewPairs;
  const LeadRow& row = few ? all : own;
  if (row.pairs == 0) return "";
  const std::string where = !few                         ? " on " + gpus_text(own.gpus, own.most_gpus)
                            : kind == MachineKind::kPcie ? (gpus > 2 ? " on more than 2 GPUs" : " on 2 GPUs")
                                                         : "";
  return fmt::format("a predicted lead {} was right in {} of {} published pairs over {}{}",
                     band_text(row.from, row.below), row.right, row.pairs, link_name(kind), where);
}

std::string time_record(MachineKind kind, int gpus) {
  if (kind == MachineKind::kNodes)
    return "no published run is on several nodes, so nobody knows how far off this time is (docs/accuracy.md)";
  for (const RunsRow& row : kRuns)
    if (row.kind == kind && gpus >= row.gpus && gpus <= row.most_gpus)
      return fmt::format("half of {} published runs {}on {} were predicted within {} of their measured time", row.runs,
                         row.gpus > 1 ? fmt::format("over {} ", link_name(kind)) : "",
                         gpus_text(row.gpus, row.most_gpus), percent_text(row.median));
  return "";
}

}  // namespace spscope
