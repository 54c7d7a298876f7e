// What published times say of predictions like these: how often a lead of this size was right, and how far times were
// off, by kind of machine and number of GPUs (published_errors.def).
#pragma once

#include <string>

#include "backend/analysis/ratio_error.h"

namespace spscope {

// "a predicted lead of 5 to 10 % was right in 7 of 11 published pairs over PCIe on 3 to 4 GPUs"; "" where there is no
// such pair. `lead`: time of the other over that of the faster one, less 1. Where fewer than 5 pairs are of as many
// GPUs, those of other numbers of GPUs count too, but for those of two GPUs over PCIe, which pass no host bridge on
// their way.
std::string lead_record(MachineKind kind, int gpus, double lead);

// "half of 37 published runs over NVLink on more than 4 GPUs were predicted within 9.9 % of their measured time"; that
// there is none on several nodes; "" where nothing is known to say.
std::string time_record(MachineKind kind, int gpus);

}  // namespace spscope
