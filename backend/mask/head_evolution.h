// How what a pattern draws for a head changes from one denoise step to the next (db-sp.md 7.8): a head keeps most of
// its character for the whole generation, the rest follows an AR(1) process with jumps at a few steps.
#pragma once

#include "backend/mask/pattern.h"

namespace spscope {

// A standard normal value of (layer, head, purpose) at the request's denoise step. `drift` in [0, 1] is the share of
// its variance that evolves: the correlation between two steps never falls below 1 - drift. Jumps come at the same
// steps for all heads and layers.
double evolving_normal(const PatternRequest& request, int head, int purpose, double drift);

// Uniform in [0, 1), drawn anew with probability `change` from one denoise step to the next.
double redrawn_uniform(const PatternRequest& request, int head, int purpose, double change);

// The row `drift` of a pattern that evolves so.
Parameter drift_parameter();

}  // namespace spscope
