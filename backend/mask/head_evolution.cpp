#include "backend/mask/head_evolution.h"

#include <cmath>

#include "backend/mask/pattern_parts.h"

namespace spscope {
namespace {

constexpr double kStepCorrelation = 0.98;
constexpr double kJumpProbability = 0.06, kJumpCorrelation = 0.6;  // about 3 jumps in 50 steps
// Fitted with the correlations above: a plan of head groups for Wan2.1-14B (Sparge, 40 layers of 40 heads, density
// 0.30, 8 groups) that is kept while its imbalance is at most 1.10 is made anew 3 to 8 times in 50 steps; db-SP
// (arXiv 2511.23113) reports 5 (docs/masks.md). With all of the variance evolving it would be at most of the steps.
constexpr double kDrift = 0.15;
constexpr std::uint64_t kJumps = 0x6a756d70;  // key of a generator that depends on the seed alone

}  // namespace

double evolving_normal(const PatternRequest& request, int head, int purpose, double drift) {
  Rng rng = rng_of(request, head, purpose);
  Rng jumps(request.seed, kJumps);
  const double character = rng.normal();
  double x = rng.normal();
  for (int step = 0; step < request.denoise_step; ++step) {
    const double correlation = jumps.uniform() < kJumpProbability ? kJumpCorrelation : kStepCorrelation;
    x = correlation * x + std::sqrt(1 - correlation * correlation) * rng.normal();
  }
  return std::sqrt(1 - drift) * character + std::sqrt(drift) * x;
}

double redrawn_uniform(const PatternRequest& request, int head, int purpose, double change) {
  Rng rng = rng_of(request, head, purpose);
  double value = rng.uniform();
  for (int step = 0; step < request.denoise_step; ++step) {
    if (rng.uniform() < change) value = rng.uniform();
  }
  return value;
}

Parameter drift_parameter() {
  return Parameter::real("drift", kDrift, 0, 1, "share of the drawn variation that changes over denoise steps");
}

}  // namespace spscope
