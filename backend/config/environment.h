// What the environment of the process says, where a config says nothing.
#pragma once

#include <string>

namespace spscope {

// Where temporary files go: the first of $SLURM_TMPDIR (local disk of a Slurm job) and $TMPDIR that is set, else /tmp.
std::string default_scratch_folder();

}  // namespace spscope
