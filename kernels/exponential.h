// The exponential of the softmax, open to tests and to whoever needs exp of many numbers that are not positive.
#pragma once

#include <span>

namespace spscope::kernels {

// out[i] = exp(x[i]) for x[i] <= 0, within 2.5e-7 of it; exactly 0 below -87.7 and for -inf, exactly 1 at 0.
// REQUIRES: equal lengths.
void exp_nonpositive(std::span<const float> x, std::span<float> out);

}  // namespace spscope::kernels
