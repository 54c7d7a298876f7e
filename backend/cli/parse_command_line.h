// Reads a command line by the declarations of commands, and prints help. The library behind it, CLI11, is known to
// parse_command_line.cpp alone: every file that includes it takes many seconds to compile.
#pragma once

#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

#include "backend/cli/command.h"

namespace spscope {

// The command that a command line asks for; the variables of its flags are set.
struct ChosenCommand {
  std::string name;                    // "mask", also of `mask info`
  CommandAction action;                // of the command, or of the one below it
  std::vector<std::string> arguments;  // the values of its first argument known by position: files, where it reads any
};

// `program` holds the commands below it. Prints what --help or --version asks for to `out`, or what is wrong to `err`,
// and then returns the exit code instead of a command.
std::variant<ChosenCommand, int> parse_command_line(const Command& program, const std::string& version, int argc,
                                                    const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace spscope
