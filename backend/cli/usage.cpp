#include "backend/cli/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "backend/base/nearest_name.h"
#include "backend/cli/flag_values.h"
#include "backend/config/config_fields.h"

namespace spscope {
namespace {

// The command that met an argument it does not know, or else the last one that the arguments lead to.
const CLI::App& at_fault(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() || !app.remaining().empty() ? app : at_fault(*parsed.front());
}

// "spscope mask generate"
std::string full_name(const CLI::App& app) {
  return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

bool takes_settings(const CLI::App& app) { return app.get_option_no_throw("--set") != nullptr; }

// What was typed after the unknown flag: after "=", as another unknown word, or taken for the config.
std::string value_after(const CLI::App& app, const std::vector<std::string>& unknown) {
  const std::size_t equals = unknown.front().find('=');
  if (equals != std::string::npos) return unknown.front().substr(equals + 1);
  if (unknown.size() > 1 && !unknown[1].starts_with('-')) return unknown[1];
  const CLI::Option* config = app.get_option_no_throw("config");
  if (config != nullptr && config->count() > 0 && !config->results().front().ends_with(".toml"))
    return config->results().front();
  return "VALUE";
}

// "--set run.mode=simulate" for the unknown flag --mode; "" when no key has its name.
std::string setting_for(const CLI::App& app, const std::string& flag, const std::vector<std::string>& unknown) {
  const std::string_view key = std::string_view(flag).substr(std::min(flag.size(), flag.find_first_not_of('-')));
  std::string found;
  for (const FieldRow& row : config_fields())
    if (row.key == key && (found.empty() || row.section == "run")) found = row.name;
  return found.empty() ? found : fmt::format("--set {}={}", found, value_after(app, unknown));
}

// The flag or argument that a message of CLI11 begins with or is about; null when it names none.
const CLI::Option* option_of(const CLI::App& app, std::string_view message) {
  const CLI::Option* found = nullptr;
  for (const CLI::Option* option : app.get_options())
    if (message.find(option->get_name()) != std::string_view::npos &&
        (found == nullptr || option->get_name().size() > found->get_name().size()))
      found = option;
  return found;
}

// "file: stored run"
std::string described(const CLI::Option& option) {
  return fmt::format("{}: {}", option.get_name(), option.get_description());
}

// What is wrong with the values of known flags and arguments.
void describe_values(const CLI::App& app, const CLI::ParseError& error, Problem& problem) {
  const std::string message = error.what();
  const CLI::Option* option = option_of(app, message);
  const std::string help = problem.hint;
  if (const std::size_t mark = message.find(kHintMark); mark != std::string::npos) {
    problem.message = message.substr(0, mark);
    problem.hint = message.substr(mark + 1);
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && option == nullptr) {
    problem.message = full_name(app) + " needs a command";
    problem.hint = fmt::format("commands are {}; {}", fmt::join(command_names(app), ", "), help);
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    problem.message = fmt::format("{} lacks {}", full_name(app), described(*option));
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && option != nullptr) {
    const std::string& type = option->get_type_name();
    problem.message = fmt::format("{} stands without a value", option->get_name());
    problem.hint = type.find('|') == std::string::npos
                       ? fmt::format("{}; {}", described(*option), help)
                       : fmt::format("write {} and one of {}", option->get_name(), type);
  } else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr && option != nullptr) {
    const bool whole = option->get_type_name().find("INT") != std::string::npos;
    problem.message = fmt::format("{}: \"{}\" is not {}", option->get_name(), fmt::join(option->results(), " "),
                                  whole ? "an integer" : "a number");
    problem.hint = option->get_default_str().empty()
                       ? described(*option)
                       : fmt::format("{}; {} when not given", described(*option), option->get_default_str());
  } else if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    problem.hint = "give one of them, or call " + full_name(app) + " twice";
  } else if (!problem.message.empty()) {
    problem.message[0] = static_cast<char>(std::tolower(problem.message[0]));
  }
}

}  // namespace

Problem usage_problem(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = at_fault(root);
  Problem problem{ErrorCode::kUsage, "", error.what(), full_name(app) + " --help shows what it takes", {}};
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) {
    describe_values(app, error, problem);
    return problem;
  }
  // To CLI11 an unknown command is a missing one, and an unknown flag has no near ones.
  const std::string name = unknown.front().substr(0, unknown.front().find('='));
  const bool is_flag = name.starts_with('-');
  const std::vector<std::string> known = is_flag ? flag_names(app) : command_names(app);
  problem.message = is_flag         ? fmt::format("{} has no flag {}", full_name(app), name)
                    : known.empty() ? fmt::format("\"{}\" is one argument too many for {}", name, full_name(app))
                                    : fmt::format("there is no command \"{}\"", name);
  if (!is_flag && !known.empty())
    problem.hint = fmt::format("commands are {}; {}", fmt::join(known, ", "), problem.hint);
  const std::string near = nearest_name(name, std::vector<std::string_view>(known.begin(), known.end()));
  if (const std::string setting = is_flag ? setting_for(app, name, unknown) : "";
      !setting.empty() && takes_settings(app))
    problem.hint = fmt::format("did you mean {}?", setting);
  else if (!near.empty())
    problem.hint = fmt::format("did you mean \"{}\"?", near);
  return problem;
}

}  // namespace spscope
