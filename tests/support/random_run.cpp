#include "tests/support/random_run.h"

#include "backend/base/rng.h"
#include "backend/schedule/schedule.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope::testing {
namespace {

Request random_request(std::uint64_t seed) {
  Rng rng(seed);
  const int ranks = static_cast<int>(1 + rng.below(4)), heads = static_cast<int>(1 + rng.below(4));
  const auto tokens = static_cast<std::int32_t>(4 + rng.below(21));
  const auto block = static_cast<std::int32_t>((tokens + 7) / 8 + rng.below(3));
  BlockMask mask(heads, BlockMask::uniform_starts(tokens, block));
  const double density = rng.uniform();
  for (int h = 0; h < heads; ++h)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (rng.uniform() < density) mask.set(h, q, k);
  return Request::attention(ranks, heads, 2, std::move(mask));
}

}  // namespace

RandomRun random_run(std::uint64_t seed, int choice) {
  RandomRun run;
  run.request = random_request(seed);
  std::vector<std::pair<const Strategy*, Parameters>> settings;
  for (const Strategy& strategy : strategies())
    for (const Parameters& parameters : strategy.candidates(run.request)) settings.emplace_back(&strategy, parameters);
  Rng rng(seed * 7919 + static_cast<std::uint64_t>(choice));
  const auto& [strategy, parameters] = settings[static_cast<std::size_t>(rng.below(std::ssize(settings)))];
  run.strategy = strategy->name;
  run.plan = make_plan(*strategy, run.request, parameters);
  run.network = random_network(run.plan.ranks, rng);
  run.compute_ns = random_durations(run.plan, rng);
  run.timeline = schedule(run.plan, run.compute_ns, run.network);
  return run;
}

}  // namespace spscope::testing
