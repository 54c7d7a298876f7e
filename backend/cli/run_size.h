// What a run asks of this machine, said before it begins: how long its compute takes, and whether ranks crowd cores.
#pragma once

#include <string>

#include "backend/cli/job.h"
#include "backend/plan/plan.h"

namespace spscope {

// "about 50 TFLOP on 2 cores: tens of minutes; ..." when the job's compute takes more than a minute, else "". `plan` is
// that of one strategy for one layer, after which all are judged: they compute nearly the same.
std::string compute_note(const Job& job, const Plan& plan, int num_strategies);

// "1,000 ranks share 2 cores: ..." when the job executes far more ranks than there are cores, else "".
std::string crowding_note(const Job& job);

}  // namespace spscope
