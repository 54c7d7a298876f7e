// --what-if: the same question on a cluster with faster or slower parts, or with masks of another density.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/analysis/comparison.h"
#include "backend/analysis/reason.h"
#include "backend/config/scaled_cluster.h"
#include "backend/job/job.h"
#include "backend/report/document.h"

namespace spscope {

struct WhatIf {
  ClusterFactors factors;
  std::optional<double> density;  // in place of mask.density
  std::string text;               // as it was given
};

// "link=0.5,nic=2,kernel=1.2,density=0.2". Throws Error(kUsage) with all problems.
WhatIf parse_what_if(std::string_view text);
// The job where that holds. Throws Error: its times are not modelled, or its masks have no density to set.
Job supposed(const Job& job, const WhatIf& what_if);

// Each strategy as it is and what if, matched by id, the fastest as it is first; whether another one is fastest then,
// and why the time of the fastest changes.
Section what_if_section(const Comparison& as_it_is, const Comparison& then, const WhatIf& what_if,
                        OfPasses of = OfPasses::kAll);

}  // namespace spscope
