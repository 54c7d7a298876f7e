// The summary that recover prints of the file that it wrote.
#pragma once

#include <string>
#include <vector>

#include "backend/cli/command.h"
#include "backend/store/merge/merge_shards.h"

namespace spscope {

// `removable`: files and folders whose content is now in the written file; recover never removes them itself.
void print_merge(CommandContext& context, const std::string& path, const MergeReport& report,
                 const std::vector<std::string>& removable = {});

}  // namespace spscope
