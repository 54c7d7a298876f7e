// What the injection library does in a process that `spscope attach` started: it asks for shared memory, starts
// collectors that write there, and stops them when the program ends or attach is gone. It installs no signal handlers,
// throws nothing into the program, and is off in the child of a fork.
#pragma once

#include <span>

#include "collectors/collector.h"

namespace spscope::inject {

// Those that are started in the program, a list of the library itself: injected_collectors.cpp.
std::span<const CollectorRow> injected_collectors();

// Starts collecting, at the first call in a process. The sink of this process; null: nothing is collected here.
TraceSink* begin() noexcept;

}  // namespace spscope::inject
