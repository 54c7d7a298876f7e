// Commands of the `spscope` program: one file each (cmd_<name>.cpp), listed in commands.def. A command declares its
// flags and positional arguments as data bound to variables, so help and parsing cannot disagree, and returns the
// function that runs it.
//
// Exit codes: 0 done; 1 the work failed; 2 the command, its config or a file it was given is at fault, and nothing was
// done; 3 regression found. Results go to stdout, log to stderr.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "backend/base/error.h"
#include "backend/base/memory_limit.h"

namespace CLI {
class App;
}

namespace spscope {

inline constexpr int kExitDone = 0, kExitFailed = 1, kExitUsage = 2, kExitRegression = 3;

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

// The exit code that an error ends the program with, 1 or 2.
int exit_code(const Error& error);

}  // namespace spscope
