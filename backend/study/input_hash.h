// What a job reads, in one word: with the config's hash it says whether a result can be kept.
#pragma once

#include <string>

#include "backend/config/run_config.h"

namespace spscope {

// FNV-1a of names and contents of the input files of the config, and of the files of a folder among them: 16
// hexadecimal digits; "" when it names none. One that cannot be read counts as empty: load_job() has refused it.
std::string input_hash(const RunConfig& config);

}  // namespace spscope
