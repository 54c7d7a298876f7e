// `spscope calibrate --fit`: a profile from a table of the user's own times.
#pragma once

#include <string>

#include "backend/cli/command.h"

namespace spscope {

// Prints the numbers that moved and the error of each time before and after, and writes the profile when `output` is
// not empty. Throws Error with every fault of the table and where it stands.
int fit_to_times(CommandContext& context, const std::string& table, const std::string& cluster,
                 const std::string& output);

// The last line of a calibration. `output`: where its profile was written; "": nowhere.
void say_where_profile_is(CommandContext& context, const std::string& output);

}  // namespace spscope
