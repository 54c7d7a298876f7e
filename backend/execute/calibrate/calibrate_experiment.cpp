#include "backend/execute/calibrate/calibrate_experiment.h"

#include <algorithm>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/median.h"
#include "backend/execute/execute.h"

namespace spscope {
namespace {

constexpr std::uint64_t kSeed = 1;  // of q, k and v; times do not depend on it
constexpr int kLeastRounds = 3, kMostRounds = 40;

}  // namespace

Experiment make_experiment(int ranks, int head_dim, BlockMask mask, Dtype dtype,
                           const std::function<void(PlanBuilder&)>& plan, const std::function<void(Request&)>& shape,
                           std::shared_ptr<const Activations> activations) {
  const int heads = mask.heads();
  Experiment experiment{Request::attention(ranks, heads, head_dim, std::move(mask), dtype), {}, {}};
  if (shape) shape(experiment.request);
  PlanBuilder builder(experiment.request);
  plan(builder);
  experiment.plan = builder.take();
  experiment.activations = activations != nullptr
                               ? std::move(activations)
                               : std::make_shared<const Activations>(generate_activations(experiment.request, kSeed));
  return experiment;
}

std::vector<Timeline> run_experiment(const Experiment& experiment, const CalibrateOptions& options) {
  ExecuteOptions run;
  run.warmup = 1;
  run.repeats = 2;
  run.interrupt = options.interrupt;
  return execute(experiment.plan, experiment.request, *experiment.activations, run).timelines;
}

void repeat_rounds(double seconds, const std::function<void()>& round) {
  const std::int64_t start_ns = now_ns();
  for (int done = 0; done < kMostRounds; ++done) {
    if (done >= kLeastRounds && static_cast<double>(now_ns() - start_ns) * 1e-9 >= seconds) return;
    round();
  }
}

void run_series(Series& series, double seconds, const CalibrateOptions& options) {
  repeat_rounds(seconds, [&] {
    for (std::size_t e = 0; e < series.experiments.size(); ++e)
      for (const Timeline& timeline : run_experiment(series.experiments[e], options))
        for (Point& point : series.points) {
          if (point.experiment != e) continue;
          const OpTimes& t = times_of(timeline, point.op);
          point.runs_ns.push_back(static_cast<double>(t.end_ns - t.begin_ns));
        }
  });
}

LinearFit fit_series(const Series& series) {
  std::vector<FitSample> samples;
  for (const Point& point : series.points) samples.push_back({point.terms, std::max(1.0, median(point.runs_ns))});
  return fit_non_negative(samples);
}

}  // namespace spscope
