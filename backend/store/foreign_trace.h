// Traces of other programs, which spscope does not read: people give them in place of a file of spscope.
#pragma once

#include <string>

namespace spscope {

// What a file is by its content or its name: "a trace of torch.profiler", "a report of Nsight Systems"; "": none of
// them, a file of spscope, or one that cannot be read.
std::string foreign_trace(const std::string& path);

inline constexpr const char* kRecordInstead = "record the program with: spscope attach -o FILE.db -- PROGRAM";

}  // namespace spscope
