// `spscope calibrate --attention`: an attention kernel of the user in the place of that of a cluster.
#pragma once

#include <string>

#include "backend/cli/command.h"

namespace spscope {

// `table` is a CSV with a row for each time: tokens, block (tokens), density (active share of the blocks, above 0 and
// at most 1) and ms, and where they are given heads (else 1) and head_dim (else 128). Fits the three numbers of
// attention in [cost] to them, puts these in the place of those of `cluster`, a preset or the path of a profile, and
// writes the profile to `output` unless that is "". Its other numbers are for `model`, a preset, which may be "" where
// a profile gives them one by one. The kernel gets the name of the file. Returns the exit code. Throws
// Error with every row that cannot be used, with its column and line; times that do not grow with the active pairs.
int take_attention(CommandContext& context, const std::string& table, const std::string& cluster,
                   const std::string& model, const std::string& output);

}  // namespace spscope
