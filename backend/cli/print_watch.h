// What `spscope watch` shows: one look at a running collection, as text for a terminal or as JSON.
#pragma once

#include <string>

#include "backend/collect/run_watch.h"

namespace spscope {

// Lines that end with a line feed. `columns`: width of the terminal. Lines of ranks are cut to it, the others wrapped.
std::string render_watch_text(const WatchedRun& run, int columns);
std::string render_watch_json(const WatchedRun& run);  // one line, without a line feed

}  // namespace spscope
