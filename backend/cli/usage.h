// What is wrong with a command line, in words that name the nearest known command or flag.
#pragma once

#include <string>
#include <vector>

#include "backend/base/error.h"
#include "backend/cli/flags.h"

namespace spscope {

enum class UsageFault {
  kUnknown,     // words that no flag or argument takes
  kValue,       // a value that the rule of its flag refuses
  kNotANumber,  // a value that is not a number, for a flag without a rule
  kNoValue,     // a flag without a value
  kMissing,     // a required flag or argument is absent
  kNoCommand,   // none of the commands is named
  kExcluded,    // two flags that cannot be given together
  kOther,
};

// What the parser found, and where.
struct WrongUsage {
  UsageFault fault = UsageFault::kOther;
  std::string command;                // "spscope mask generate"
  std::vector<std::string> flags;     // that it has: "--output"
  std::vector<std::string> commands;  // that it has
  std::vector<std::string> below;     // those of each of them: "mask import"
  const Flag* flag = nullptr;         // the flag or argument at fault, if it is known
  std::vector<std::string> words;     // kUnknown: those words; kNotANumber: the values
  std::string config;                 // the value of the argument `config`, if it has one
  std::string unmarked_program;       // a program that was given without -- before it
  std::string message, hint;          // kValue: why and what else; kExcluded, kOther: the message of the parser
};

Problem usage_problem(const WrongUsage& usage);

}  // namespace spscope
