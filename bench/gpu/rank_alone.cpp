#include "bench/gpu/rank_alone.h"

#include "backend/base/clock.h"
#include "backend/base/median.h"
#include "backend/execute/cuda/driver.h"

namespace spscope::gpu_check {

RankAlone::RankAlone(const Plan& plan, const Request& request, const Activations& activations)
    : layout_(plan),
      slots_(plan, layout_),
      gpu_(cuda::Gpu::of(0)),
      steps_(plan, request, activations, layout_, slots_, gpu_, 0) {
  steps_.enqueue();
  wait();
}

std::set<std::string> RankAlone::kernels() const {
  std::set<std::string> names;
  for (const cuda::Step& step : steps_.steps())
    for (const cuda::Launch& launch : step.work.launches) names.insert(launch.kernel.name);
  return names;
}

std::map<OpId, int> RankAlone::launches() const {
  std::map<OpId, int> launches;
  for (const cuda::Step& step : steps_.steps()) launches[step.op] += static_cast<int>(step.work.launches.size());
  return launches;
}

void RankAlone::wait() const {
  cuda::check(cuda::driver().cuStreamSynchronize(steps_.stream()), "cuStreamSynchronize");
}

void RankAlone::warm_up() {
  const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(kWarmUpSeconds * 1e9);
  do {
    steps_.enqueue_work();
    wait();
  } while (now_ns() < end_ns);
}

double RankAlone::run_ms(int passes) {
  std::vector<std::unique_ptr<cuda::Event>> events;
  for (int i = 0; i < 2 * passes; ++i)
    events.push_back(std::make_unique<cuda::Event>(gpu_.context(), cuda::EventTiming::kTimed));
  const auto record = [&](const cuda::Event& event) {
    cuda::check(cuda::driver().cuEventRecord(event.get(), steps_.stream()), "cuEventRecord");
  };
  for (std::size_t i = 0; i < events.size(); i += 2) {
    record(*events[i]);
    steps_.enqueue_work();
    record(*events[i + 1]);
  }
  wait();
  std::vector<double> passes_ms;
  for (std::size_t i = 0; i < events.size(); i += 2) {
    float ms = 0;
    cuda::check(cuda::driver().cuEventElapsedTime(&ms, events[i]->get(), events[i + 1]->get()), "cuEventElapsedTime");
    passes_ms.push_back(double{ms});
  }
  return median(std::move(passes_ms));
}

}  // namespace spscope::gpu_check
