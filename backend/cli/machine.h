// Facts about the machine that results were made on: stored with every run and shown by `spscope doctor`.
#pragma once

#include <string>
#include <vector>

#include "backend/store/records.h"

namespace spscope {

// cpu, cores, memory, vector target of the kernels, operating system.
std::vector<MachineFact> machine_facts();
// Cores that this process may use, containers and affinity considered.
int usable_cores();

}  // namespace spscope
