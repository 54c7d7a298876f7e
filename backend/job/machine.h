// Facts about the machine that results were made on: stored with every run and shown by `spscope doctor`.
#pragma once

#include <vector>

#include "backend/store/records.h"

namespace spscope {

// What can run ranks here, or why it cannot: a fact for each row.
std::vector<MachineFact> executor_facts();

// cpu, cores, memory, vector target of the kernels, operating system.
std::vector<MachineFact> machine_facts();

}  // namespace spscope
