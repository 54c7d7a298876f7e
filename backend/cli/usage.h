// What is wrong with a command line, in words that name the nearest known command or flag.
#pragma once

#include "backend/base/error.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace spscope {

// `root` is the program, as it was left by parsing arguments that ended in `error`.
Problem usage_problem(const CLI::App& root, const CLI::ParseError& error);

}  // namespace spscope
