// Random values of a head that change from one denoise step to the next: most of the variance is fixed for the whole
// generation, the rest follows an AR(1) process with jumps at a few steps. The model is ours, fitted to the number of
// re-plans that db-SP reports (head_evolution.cpp).
#pragma once

#include "backend/mask/pattern.h"

namespace spscope {

// A standard normal value of (layer, head, purpose) at the request's denoise step. `drift` in [0, 1] is the share of
// its variance that evolves: the correlation between two steps never falls below 1 - drift. Jumps come at the same
// steps for all heads and layers.
double evolving_normal(const PatternRequest& request, int head, int purpose, double drift);

// Uniform in [0, 1), drawn anew with probability `change` from one denoise step to the next.
double redrawn_uniform(const PatternRequest& request, int head, int purpose, double change);

// The parameter `drift` of patterns that use evolving_normal().
Parameter drift_parameter();

}  // namespace spscope
