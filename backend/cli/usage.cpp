#include "backend/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <type_traits>
#include <variant>

#include "backend/base/nearest_name.h"
#include "backend/config/config_fields.h"
#include "backend/store/foreign_trace.h"

namespace spscope {
namespace {

// What was typed after the unknown flag: after "=", as another unknown word, or taken for the config.
std::string value_after(const WrongUsage& usage) {
  const std::size_t equals = usage.words.front().find('=');
  if (equals != std::string::npos) return usage.words.front().substr(equals + 1);
  if (usage.words.size() > 1 && !usage.words[1].starts_with('-')) return usage.words[1];
  if (!usage.config.empty() && !usage.config.ends_with(".toml")) return usage.config;
  return "VALUE";
}

// "--set run.mode=simulate" for the unknown flag --mode; "" when no key has its name.
std::string setting_for(const WrongUsage& usage, const std::string& flag) {
  const std::string_view key = std::string_view(flag).substr(std::min(flag.size(), flag.find_first_not_of('-')));
  std::string found;
  for (const FieldRow& row : config_fields())
    if (row.key == key && (found.empty() || row.section == "run")) found = row.name;
  return found.empty() ? found : fmt::format("--set {}={}", found, value_after(usage));
}

// "file: stored run"
std::string described(const Flag& flag) { return fmt::format("{}: {}", long_name(flag), flag.help); }

// "a folder", "files", "--over"
std::string needed(const Flag& flag) {
  const std::string name = long_name(flag);
  if (!is_positional(flag) || name.ends_with('s')) return name;
  return (std::string_view("aeiou").find(name.front()) == std::string_view::npos ? "a " : "an ") + name;
}

bool takes_integers(const Flag& flag) {
  return std::visit(
      []<typename Target>(const Target*) {
        return (std::is_integral_v<Target> && !std::is_same_v<Target, bool>) ||
               std::is_same_v<Target, std::vector<int>>;
      },
      flag.target);
}

// For an unknown command: "mask import" for import, and what to do with a trace of another program; else "".
std::string command_for(const WrongUsage& usage) {
  const std::string& word = usage.words.front();
  for (std::size_t i = 1; i < usage.words.size(); ++i)
    if (const std::string trace = foreign_trace(usage.words[i]); !trace.empty())
      return fmt::format("\"{}\" is {}, which spscope cannot read; {}", usage.words[i], trace, kRecordInstead);
  for (const std::string& below : usage.below)
    if (below.ends_with(" " + word)) return fmt::format("did you mean \"{}\"?", below);
  return "";
}

void describe_unknown(const WrongUsage& usage, Problem& problem) {
  const std::string name = usage.words.front().substr(0, usage.words.front().find('='));
  const bool is_flag = name.starts_with('-');
  const std::vector<std::string>& known = is_flag ? usage.flags : usage.commands;
  problem.message = is_flag         ? fmt::format("{} has no flag {}", usage.command, name)
                    : known.empty() ? fmt::format("\"{}\" is one argument too many for {}", name, usage.command)
                                    : fmt::format("there is no command \"{}\"", name);
  if (!is_flag && !known.empty())
    problem.hint = fmt::format("commands are {}; {}", fmt::join(known, ", "), problem.hint);
  const bool takes_settings = std::ranges::find(usage.flags, "--set") != usage.flags.end();
  const std::string setting = is_flag && takes_settings ? setting_for(usage, name) : "";
  const std::string near = nearest_name(name, std::vector<std::string_view>(known.begin(), known.end()));
  std::string own = is_flag ? "" : command_for(usage);
  if (own.empty() && !near.empty()) own = fmt::format("did you mean \"{}\"?", near);
  if (!setting.empty())
    problem.hint = fmt::format("did you mean {}?", setting);
  else if (is_flag && !usage.unmarked_program.empty())
    problem.hint = fmt::format("{}put -- before the program, whose flags are its own: {} ... -- {} ...",
                               own.empty() ? "" : own + " Else ", usage.command, usage.unmarked_program);
  else if (!own.empty())
    problem.hint = own;
}

void describe_no_value(const Flag& flag, Problem& problem) {
  problem.message = fmt::format("{} needs a value", long_name(flag));
  problem.hint = std::holds_alternative<OneOf>(flag.rule)
                     ? fmt::format("write {} and one of {}", long_name(flag), value_name(flag))
                     : fmt::format("{}; {}", described(flag), problem.hint);
}

void describe_not_a_number(const WrongUsage& usage, Problem& problem) {
  const Flag& flag = *usage.flag;
  problem.message = fmt::format("{}: \"{}\" is not {}", long_name(flag), fmt::join(usage.words, " "),
                                takes_integers(flag) ? "an integer" : "a number");
  problem.hint = flag.default_text.empty() ? described(flag)
                                           : fmt::format("{}; {} when not given", described(flag), flag.default_text);
}

}  // namespace

Problem usage_problem(const WrongUsage& usage) {
  Problem problem{ErrorCode::kUsage, "", usage.message, usage.command + " --help shows what it takes", {}};
  switch (usage.fault) {
    case UsageFault::kUnknown:
      describe_unknown(usage, problem);
      break;
    case UsageFault::kValue:
      problem.hint = usage.hint;
      break;
    case UsageFault::kNotANumber:
      describe_not_a_number(usage, problem);
      break;
    case UsageFault::kNoValue:
      describe_no_value(*usage.flag, problem);
      break;
    case UsageFault::kMissing:
      problem.message = fmt::format("{} needs {}", usage.command, needed(*usage.flag));
      problem.hint = fmt::format("{}; {}", described(*usage.flag), problem.hint);
      break;
    case UsageFault::kNoCommand:
      problem.message = usage.command + " needs a command";
      problem.hint = fmt::format("commands are {}; {}", fmt::join(usage.commands, ", "), problem.hint);
      break;
    case UsageFault::kExcluded:
      problem.hint = "give one of them, or call " + usage.command + " twice";
      break;
    case UsageFault::kOther:
      if (!problem.message.empty()) problem.message[0] = static_cast<char>(std::tolower(problem.message[0]));
      break;
  }
  return problem;
}

}  // namespace spscope
