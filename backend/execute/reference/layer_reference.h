// What a whole layer must give, in double precision on one rank, from its definition by LayerBlock: no plan, no kernel
// of the executor and no rounding of what lies between. Only the numbers of the parameters are those of the run.
#pragma once

#include <span>

#include "backend/execute/activations.h"
#include "backend/execute/reference/dense_rows.h"

namespace spscope {

// Multiply-adds that the output of `num_tokens` tokens of one batch entry takes, counting attention as dense. Keys and
// values of all tokens are needed for any one of them.
double layer_reference_work(const Request& request, std::int64_t num_tokens);

// Rows of x, [tokens][hidden], that the layer leaves at these tokens of one batch entry. Of a spatial-temporal layer,
// all tokens along the outer axis of an inner index must be asked for together. REQUIRES: require_fit(activations,
// request); a request for a whole layer.
DenseRows layer_reference(const Request& request, const Activations& activations, int batch_entry,
                          std::span<const GridToken> tokens);

}  // namespace spscope
