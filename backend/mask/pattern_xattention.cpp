// Pattern `xattention`: masks as XAttention (arXiv 2503.16428) selects them in every call, without its inputs: a row of
// key blocks is the smallest set whose softmax over antidiagonal sums reaches `tau`. Like `sparge` without dense rows
// and columns; the kernel's blocks are 128 tokens.
//
// From the paper: the selection and 0.9. Assumed: how much the temperature varies over heads and rows; no published
// imbalance was found to fit it to.
#include "backend/mask/head_evolution.h"
#include "backend/mask/pattern_parts.h"
#include "backend/mask/softmax_rows.h"

namespace spscope {

std::vector<Parameter> parameters_xattention() {
  std::vector<Parameter> rows = warmup_parameters();
  rows.push_back(Parameter::real("tau", 0.9, 0.01, 1, "softmax weight that the kept blocks of a row must reach"));
  rows.push_back(Parameter::real("head_spread", 0.2, 0, 3, "sigma of the heads' log-temperature"));
  rows.push_back(Parameter::real("row_spread", 0.3, 0, 3, "sigma of the rows' log-temperature within a head"));
  rows.push_back(drift_parameter());
  return rows;
}

std::vector<Problem> check_xattention(const PatternRequest& request) { return check_softmax_rows(request); }

BlockMask generate_xattention(const PatternRequest& request) {
  if (is_warmup(request)) return all_active(request);
  SoftmaxRows settings;
  settings.cdf = request.parameters.real("tau");
  settings.head_spread = request.parameters.real("head_spread");
  settings.row_spread = request.parameters.real("row_spread");
  settings.drift = request.parameters.real("drift");
  return generate_softmax_rows(request, settings);
}

}  // namespace spscope
