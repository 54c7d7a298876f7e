// Signals that this process ignores, and programs that it starts do not.
#pragma once

namespace spscope {

// From now on.
void ignore_signal(int signal);
// Ignores none of them any more that had their usual effect before: what takes the place of this process gets them so.
// It may be called between fork() and exec().
void stop_ignoring_signals();

}  // namespace spscope
