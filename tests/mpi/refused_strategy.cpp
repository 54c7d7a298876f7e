#include "tests/mpi/refused_strategy.h"

#include <cstdio>
#include <optional>
#include <string>

#include "backend/analysis/comparison.h"
#include "backend/job/run_job.h"
#include "backend/store/store_reader.h"
#include "tests/support/temporary_folder.h"

namespace spscope {

namespace {

int whole_plans = 1;  // that `ulysses` still makes in this process

void plan_ulysses(PlanBuilder& builder, const Request& request, const Parameters& parameters,
                  const Decision& decision) {
  if (whole_plans-- > 0) find_strategy("ulysses")->plan(builder, request, parameters, decision);
}

bool as_expected(const Comparison& comparison) {
  const StrategyResult &refused = comparison.strategies.at(0), &ring = comparison.strategies.at(1);
  std::printf("%s: %s; %s: %zu layer passes, %s\n", refused.label.c_str(), refused.reason().c_str(), ring.label.c_str(),
              ring.by_layer.size(), ring.verify.c_str());
  return !refused.legal() && refused.reason().find("the plan of ulysses breaks") != std::string::npos && ring.legal() &&
         ring.by_layer.size() == 2 && ring.verify == "passed";
}

}  // namespace

int run_refused(RankWorld& world) {
  JobFlags flags;
  flags.strategies = {"ulysses", "ring"};
  flags.settings = {"run.backend=mpi",    "run.denoise_steps=2", "run.repeats=1",
                    "model.grid=[3,6,7]", "model.heads=4",       "model.head_dim=8",
                    "mask.block=16",      "run.warmup=0",        "cluster.ranks=" + std::to_string(world.size())};
  Job job = load_job(flags);
  Strategy broken = *find_strategy("ulysses");
  broken.plan = plan_ulysses;
  job.strategies[0].strategy = &broken;

  const TemporaryFolder folder;
  const bool first = world.rank() == 0;
  std::optional<StoreWriter> head;
  if (first) head.emplace(folder / "run.db", WriteOptions());
  RunOptions options;
  options.world = &world;
  const RunOutcome outcome = run_job(job, {first ? &*head : nullptr, nullptr}, options);
  bool right = !outcome.interrupted();
  if (first) {
    head->finish();
    right = as_expected(compare_store(StoreReader(folder / "run.db")).front()) && right;
  }
  return world.any(!right) ? 1 : 0;
}

}  // namespace spscope
