#include "backend/base/rng.h"

#include <cmath>
#include <numbers>

namespace spscope {

// Box and Muller (1958), one of the two values.
double Rng::normal() {
  const double u = 1.0 - uniform();  // in (0, 1]: the logarithm is finite
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform());
}

// Marsaglia and Tsang (2000); shapes below 1 are lifted by one and scaled back.
double Rng::gamma(double shape) {
  if (shape < 1.0) {
    const double lifted = gamma(shape + 1.0);  // before the draw below: the order of operands is unspecified
    return lifted * std::pow(1.0 - uniform(), 1.0 / shape);
  }
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal(), v = std::pow(1.0 + c * x, 3.0);
    if (v <= 0.0) continue;
    if (std::log(1.0 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double Rng::beta(double a, double b) {
  const double x = gamma(a), y = gamma(b);
  return x / (x + y);
}

}  // namespace spscope
