// The `spscope` program: finds the command, parses its flags, runs it, and turns errors into text and an exit code.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <new>
#include <vector>

#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/help.h"
#include "backend/cli/usage.h"

namespace spscope {
namespace {

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
    sub->footer(std::string(long_help(command.name)));
    sub->callback([&action, declared = command.declare(*sub)] { action = declared; });
    std::vector<CLI::App*> takers = sub->get_subcommands(nullptr);
    takers.push_back(sub);
    for (CLI::App* taker : takers) taker->add_flag("--json", context.json, "print the result as JSON");
  }
  if (argc < 2) {  // nothing was asked: what can be
    std::cerr << app.help();
    return kExitUsage;
  }
  try {  // CLI11 reports wrong usage, and help, by exceptions
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);
    std::cerr << render(usage_problem(app, error));
    return kExitUsage;
  }
  context.color = is_terminal(STDOUT_FILENO);
  context.progress = is_terminal(STDERR_FILENO) && !context.json;
  const int code = action(context);
  if (!context.out.flush()) throw Error(ErrorCode::kStoreWrite, "cannot write to standard output", "is its disk full?");
  return code;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  try {
    return spscope::run(argc, argv);
  } catch (const spscope::Error& error) {
    std::cerr << spscope::render(error);
    return spscope::exit_code(error);
  } catch (const std::bad_alloc&) {
    std::cerr << spscope::render(spscope::Problem{spscope::ErrorCode::kMemory,
                                                  "",
                                                  "the memory of this machine is full",
                                                  "use fewer ranks, tokens, layers or repeats",
                                                  {}});
    return spscope::kExitFailed;
  } catch (const std::exception& error) {
    std::cerr << spscope::render(spscope::Problem{
        spscope::ErrorCode::kInternal, "", error.what(), "this is a defect of spscope; please report it", {}});
    return spscope::kExitFailed;
  }
}
