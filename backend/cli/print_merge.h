// What recover and migrate say of the file that they wrote.
#pragma once

#include <string>

#include "backend/cli/command.h"
#include "backend/store/merge_shards.h"

namespace spscope {

void print_merge(CommandContext& context, const std::string& path, const MergeReport& report);

}  // namespace spscope
