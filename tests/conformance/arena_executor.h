// An executor that only tests have: it proves that a new device is one row and one folder, and that nothing outside of
// an executor depends on how the built-in ones keep memory or move data.
//
// Each rank has an arena of its own. A slot is a block of its rank's arena, named by its offset, with guard bytes on
// both sides that are checked whenever a block is freed. Fresh and freed bytes are NaN. Messages are packed by their
// sender into mail and unpacked by their receiver, cell by cell, so that nobody waits for a receiver.
#pragma once

#include "backend/execute/execute.h"

namespace spscope::testing {

// The row: run.device = "arena", run.backend = "threads", run.comm = "mail".
Executor arena_executor();

}  // namespace spscope::testing
