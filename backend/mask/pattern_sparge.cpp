// Pattern `sparge`: masks as SpargeAttention (arXiv 2502.18137) selects them in every call, without its inputs. A row
// of key blocks is the smallest set whose pooled softmax reaches `cdf`; rows and columns of blocks whose tokens are
// unlike each other ("non-similar", in runs) are fully dense and are excluded from the softmax. Query rows come in
// groups of `rows_together` equal rows, because the kernel's query blocks are twice its key blocks.
//
// From the source: the selection, 0.9, up to 0.12 of dense rows and columns in runs with persistence 0.7. Fitted:
// head_spread, so that the imbalance over 8 groups of neighbouring heads at density 0.30 is the reported one (0.7 for
// Wan2.1-14B, 1.428; 1.3 for CogVideoX1.5, 1.513), and drift (head_evolution.cpp).
#include "backend/mask/head_evolution.h"
#include "backend/mask/pattern_parts.h"
#include "backend/mask/softmax_rows.h"

namespace spscope {

std::vector<Parameter> parameters_sparge() {
  std::vector<Parameter> rows = warmup_parameters();
  rows.push_back(Parameter::real("cdf", 0.9, 0.01, 1, "softmax weight that the kept blocks of a row must reach"));
  rows.push_back(Parameter::integer("rows_together", 2, 1, 8, "blocks", "neighbouring query blocks with equal rows"));
  rows.push_back(Parameter::real("head_spread", 0.7, 0, 3,
                                 "sigma of the heads' log-temperature: 0.7 is Wan2.1, 1.3 CogVideoX1.5"));
  rows.push_back(drift_parameter());
  return rows;
}

std::vector<Problem> check_sparge(const PatternRequest& request) { return check_softmax_rows(request); }

BlockMask generate_sparge(const PatternRequest& request) {
  if (is_warmup(request)) return all_active(request);
  SoftmaxRows settings;
  settings.cdf = request.parameters.real("cdf");
  settings.rows_together = request.parameters.integer("rows_together");
  settings.head_spread = request.parameters.real("head_spread");
  settings.drift = request.parameters.real("drift");
  settings.most_dissimilar = 0.12;
  return generate_softmax_rows(request, settings);
}

}  // namespace spscope
