// Commands of the `spscope` program: one file each (cmd_<name>.cpp), listed in commands.def. A command declares its
// flags and positional arguments as data bound to variables, so help and parsing cannot disagree, and the function that
// runs it and returns an exit code (exit_code.h). Results go to stdout, log to stderr.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/exit_code.h"
#include "backend/base/memory_limit.h"
#include "backend/cli/flags.h"

namespace spscope {

// What every command gets: where to write and how.
struct CommandContext {
  std::ostream& out;
  std::ostream& err;
  bool json = false;                                       // --json
  std::int64_t max_memory_bytes = kDefaultMaxMemoryBytes;  // --max-memory: what files of others may unfold to
  bool color = false;                                      // stdout is a terminal that shows colours
  bool progress = false;            // stderr is a terminal: a progress line may be drawn and erased
  bool output_is_finished = false;  // by the command, whose exit code holds whatever became of it
};

// Runs a parsed command and returns its exit code. Owns the variables that the flags set.
using CommandAction = std::function<int(CommandContext&)>;

// What a command takes and what runs it. --help, --json and --max-memory are added to every one.
struct Command {
  std::string name = {}, summary = {};
  std::string text = {};               // --help prints it below the flags
  std::vector<Flag> flags = {};        // in the order of --help
  std::vector<Command> commands = {};  // when there are any, one of them must be named
  CommandAction action = {};           // of a command without commands
};

// A row of commands.def. `declare` gives all but name, summary and text.
struct CommandRow {
  std::string_view name, summary;
  Command (*declare)();
};

std::span<const CommandRow> commands();

}  // namespace spscope
