// Identity of this host and of its current boot.
#pragma once

#include <string>

namespace spscope {

// "" when the system does not say.
std::string host_name();
// Of the kernel that runs: the same in all containers of a computer, another one after each start. "" when the system
// does not say.
std::string boot_id();

}  // namespace spscope
