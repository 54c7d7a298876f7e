#include "backend/execute/cuda/timed_experiment.h"

#include <algorithm>

#include "backend/base/clock.h"
#include "backend/base/ids.h"
#include "backend/base/median.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/stream_words.h"

namespace spscope::cuda {
namespace {

double attend_ns(const Plan& plan, const std::vector<std::int64_t>& ns) {
  double sum = 0;
  for_each_op(plan, PostKind::kAttend, [&](OpId id, const Op&) { sum += static_cast<double>(ns[at(id)]); });
  return sum;
}

}  // namespace

void Bench::throw_if_interrupted() const {
  if (interrupt != nullptr && interrupt->load())
    throw Error(ErrorCode::kInterrupted, "the calibration was interrupted");
}

TimedExperiment::TimedExperiment(const Experiment& experiment, Gpu& gpu)
    : plan_(experiment.plan),
      layout_(plan_),
      slots_(plan_, layout_),
      steps_(plan_, experiment.request, *experiment.activations, layout_, slots_, gpu, 0) {}

std::vector<std::int64_t> TimedExperiment::run(const Bench& bench) {
  bench.throw_if_interrupted();
  {
    const ClosedGate closed(bench.gate);
    closed.hold(steps_.stream());
    steps_.enqueue();
  }
  const std::vector<std::int64_t> of_steps = steps_.wait();
  std::vector<std::int64_t> ns(plan_.ops.size(), 0);
  for (std::size_t i = 0; i < of_steps.size(); ++i) ns[at(steps_.steps()[i].op)] = of_steps[i];
  return ns;
}

void run_series(Series& series, double seconds, const Bench& bench) {
  std::vector<std::unique_ptr<TimedExperiment>> experiments;
  for (const Experiment& experiment : series.experiments) {
    experiments.push_back(std::make_unique<TimedExperiment>(experiment, bench.gpu));
    experiments.back()->run(bench);
  }
  repeat_rounds(seconds, [&] {
    for (std::size_t e = 0; e < experiments.size(); ++e) {
      const std::vector<std::int64_t> ns = experiments[e]->run(bench);
      for (Point& point : series.points)
        if (point.experiment == e) point.runs_ns.push_back(static_cast<double>(ns[at(point.op)]));
    }
  });
}

Measured measure_slowdown(const Experiment& attention, int held_sms, double seconds, const Bench& bench) {
  TimedExperiment experiment(attention, bench.gpu);
  HeldProcessors held(bench.gpu, held_sms);
  std::vector<double> alone_ns, beside_ns, ratios;
  experiment.run(bench);
  repeat_rounds(seconds, [&] {
    alone_ns.push_back(attend_ns(attention.plan, experiment.run(bench)));
    held.hold();
    beside_ns.push_back(attend_ns(attention.plan, experiment.run(bench)));
    held.end();
    ratios.push_back(beside_ns.back() / std::max(1.0, alone_ns.back()));
  });
  return {std::max(1.0, median(beside_ns) / std::max(1.0, median(alone_ns))), measured(ratios).spread};
}

// What Enqueuer does for an op of compute.
LaunchTimes measure_launches(const Experiment& small, double seconds, const Bench& bench) {
  constexpr int kLaunches = 16;
  TimedExperiment experiment(small, bench.gpu);
  experiment.run(bench);
  const CUstream stream = experiment.steps().stream();
  const Event event(bench.gpu.context(), EventTiming::kTimed);
  const HostMemory word(bench.gpu.context(), sizeof(std::uint32_t));
  const Event begin(bench.gpu.context(), EventTiming::kTimed), end(bench.gpu.context(), EventTiming::kTimed);
  StreamWords words;
  std::vector<double> host_ns, gap_ns;
  repeat_rounds(seconds, [&] {
    double alone_ns = 0;
    for (const std::int64_t ns : experiment.run(bench)) alone_ns += static_cast<double>(ns);
    int launches = 0;
    {
      const ClosedGate closed(bench.gate);
      closed.hold(stream);
      check(driver().cuEventRecord(begin.get(), stream), "cuEventRecord");
      const std::int64_t begin_ns = now_ns();
      for (int i = 0; i < kLaunches; ++i)
        for (const Step& step : experiment.steps().steps()) {
          if (step.work.launches.empty()) continue;
          ++launches;
          check(driver().cuEventRecord(event.get(), stream), "cuEventRecord");
          bench.gpu.enqueue(step.work, stream);
          check(driver().cuEventRecord(event.get(), stream), "cuEventRecord");
          words.write(word.address(), 1);
          words.enqueue(stream);
        }
      host_ns.push_back(static_cast<double>(now_ns() - begin_ns) / std::max(1, launches));
      check(driver().cuEventRecord(end.get(), stream), "cuEventRecord");
    }
    check(driver().cuStreamSynchronize(stream), "cuStreamSynchronize");
    gap_ns.push_back(std::max(0.0, (elapsed_ns(begin, end) - kLaunches * alone_ns) / std::max(1, launches)));
  });
  return {measured(host_ns), measured(gap_ns)};
}

}  // namespace spscope::cuda
