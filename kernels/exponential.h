// The exponential of the softmax: exp of many non-positive numbers.
#pragma once

#include <span>

namespace spscope::kernels {

// out[i] = exp(x[i]) for x[i] <= 0 with a relative error of at most 2.5e-7 + 7.5e-8 * |x[i]|, so that an error relative
// to the largest weight, 1, never exceeds 2.5e-7. Exactly 1 at 0, exactly 0 below -88 and for -inf.
// REQUIRES: equal lengths.
void exp_nonpositive(std::span<const float> x, std::span<float> out);

}  // namespace spscope::kernels
