// Facts about the machine that results were made on: stored with every run and shown by `spscope doctor`.
#pragma once

#include <string>
#include <vector>

#include "backend/store/records.h"

namespace spscope {

// cpu, cores, memory, vector target of the kernels, operating system.
std::vector<MachineFact> machine_facts();

}  // namespace spscope
