#include "backend/cli/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "backend/base/nearest_name.h"
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

}  // namespace

Problem usage_problem(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = at_fault(root);
  Problem problem{ErrorCode::kUsage, "", error.what(), full_name(app) + " --help shows what it takes", {}};
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) {
    if (!problem.message.empty()) problem.message[0] = static_cast<char>(std::tolower(problem.message[0]));
    return problem;
  }
  // To CLI11 an unknown command is a missing one, and an unknown flag has no near ones.
  const std::string name = unknown.front().substr(0, unknown.front().find('='));
  const bool is_flag = name.starts_with('-');
  const std::vector<std::string> known = is_flag ? flag_names(app) : command_names(app);
  problem.message = is_flag         ? fmt::format("{} has no flag {}", full_name(app), name)
                    : known.empty() ? fmt::format("\"{}\" is one argument too many for {}", name, full_name(app))
                                    : fmt::format("there is no command \"{}\"", name);
  const std::string near = nearest_name(name, std::vector<std::string_view>(known.begin(), known.end()));
  if (const std::string setting = is_flag ? setting_for(app, name, unknown) : "";
      !setting.empty() && takes_settings(app))
    problem.hint = fmt::format("did you mean {}?", setting);
  else if (!near.empty())
    problem.hint = fmt::format("did you mean \"{}\"?", near);
  return problem;
}

}  // namespace spscope
