// The `spscope` program: finds the command, parses its flags, runs it, and turns errors into text and an exit code.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "backend/base/nearest_name.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/help.h"

namespace spscope {
namespace {

bool is_command(std::string_view name) {
  for (const Command& command : commands())
    if (command.name == name) return true;
  return false;
}

// CLI11 reports an unknown subcommand as an extra argument; say which known one is near.
int unknown_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands()) names.push_back(command.name);
  const std::string near = nearest_name(name, names);
  std::cerr << render(Problem{ErrorCode::kUsage,
                              "",
                              "there is no command \"" + name + "\"",
                              near.empty() ? "spscope --help lists the commands" : "did you mean \"" + near + "\"?",
                              {}});
  return kExitUsage;
}

// Help and version requests leave through here too: CLI11 throws them like errors, with exit code 0.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);
  std::cerr << render(
      Problem{ErrorCode::kUsage, "", error.what(), "spscope COMMAND --help shows the flags of a command", {}});
  return kExitUsage;
}

bool is_terminal(int descriptor) { return isatty(descriptor) != 0; }

int run(int argc, char** argv) {
  CLI::App app(
      "which sequence-parallel strategy fits this model, this sparsity and this cluster, and what makes the "
      "others slower?",
      "spscope");
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  CommandContext context{std::cout, std::cerr};
  CommandAction action;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->add_flag("--json", context.json, "print the result as JSON");
    sub->footer(std::string(long_help(command.name)));
    sub->callback([&action, declared = command.declare(*sub)] { action = declared; });
  }
  if (argc > 1 && argv[1][0] != '-' && !is_command(argv[1])) return unknown_command(argv[1]);
  try {  // CLI11 reports wrong usage, and help, by exceptions
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error);
  }
  context.color = is_terminal(STDOUT_FILENO);
  context.progress = is_terminal(STDERR_FILENO) && !context.json;
  return action(context);
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  try {
    return spscope::run(argc, argv);
  } catch (const spscope::Error& error) {
    std::cerr << spscope::render(error);
    return spscope::exit_code(error);
  } catch (const std::exception& error) {
    std::cerr << spscope::render(spscope::Problem{
        spscope::ErrorCode::kInternal, "", error.what(), "this is a defect of spscope; please report it", {}});
    return spscope::kExitFailed;
  }
}
