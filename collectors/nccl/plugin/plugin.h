// What the plugin asks of the program or library that it is linked into: whether this process collects.
#pragma once

namespace spscope::nccl {

// At each communicator. It may be the first that this code hears of the process, so that collecting begins here.
bool collects_from_now_on() noexcept;
// At every other call, which comes after one of the former.
bool still_collects() noexcept;

}  // namespace spscope::nccl
