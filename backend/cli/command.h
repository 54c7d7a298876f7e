// Commands of the `spscope` program: one file each (cmd_<name>.cpp), listed in commands.def. A command declares its
// flags and positional arguments as data bound to variables, so help and parsing cannot disagree, and returns the
// function that runs it and returns an exit code (exit_code.h). Results go to stdout, log to stderr.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "backend/base/error.h"
#include "backend/base/exit_code.h"
#include "backend/base/memory_limit.h"

namespace CLI {
class App;
}

namespace spscope {

// What every command gets: where to write and how.
struct CommandContext {
  std::ostream& out;
  std::ostream& err;
  bool json = false;                                       // --json
  std::int64_t max_memory_bytes = kDefaultMaxMemoryBytes;  // --max-memory: what files of others may unfold to
  bool color = false;                                      // stdout is a terminal that shows colours
  bool progress = false;  // stderr is a terminal: a progress line may be drawn and erased
};

// Runs a parsed command and returns its exit code.
using CommandAction = std::function<int(CommandContext&)>;

struct Command {
  std::string_view name, summary;
  // Declares flags on `app` (help text and --json are there already) and returns what runs them.
  CommandAction (*declare)(CLI::App& app);
};

std::span<const Command> commands();

}  // namespace spscope
