// The `spscope` program: finds the command, parses its flags, runs it, and turns errors into text and an exit code.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <system_error>
#include <vector>

#include "backend/base/memory_limit.h"
#include "backend/base/memory_refused.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/flag_values.h"
#include "backend/cli/help.h"
#include "backend/cli/help_format.h"
#include "backend/cli/usage.h"
#include "backend/launch/bus_error.h"
#include "backend/store/sqlite/store_memory.h"

namespace spscope {
namespace {

bool is_terminal(int descriptor) { return isatty(descriptor) != 0; }

constexpr std::int64_t kLeastMaxMemoryBytes = 1 << 20, kMostMaxMemoryBytes = std::int64_t{1} << 50;

// Commands whose own work takes memory, by what was asked and not by what a file holds.
constexpr std::array<std::string_view, 3> kWorkers = {"run", "plan", "calibrate"};

// The others do little but read: a file that unfolds beyond the limit stops them.
bool is_reader(const CLI::App& app) {
  return std::ranges::find(kWorkers, app.get_subcommands().front()->get_name()) == kWorkers.end();
}

void limit_memory(const CLI::App& app, const CommandContext& context) {
  if (!is_reader(app)) return;
  limit_store_memory(context.max_memory_bytes);
  cap_process_memory(context.max_memory_bytes);
  note_refused_memory();
}

// What was read when memory ran out, as it was given.
std::string files_given(const CLI::App& app) {
  std::string files;
  const CLI::App* command = app.get_subcommands().front();
  for (const CLI::App* taker : {command, command->get_subcommands().empty() ? command : command->get_subcommands()[0]})
    for (const CLI::Option* option : taker->get_options())
      if (option->get_positional() && files.empty() && option->count() > 0)
        for (const std::string& file : option->results()) files += (files.empty() ? "\"" : ", \"") + file + "\"";
  return files;
}

int finish(CommandContext& context, int code) {
  if (!context.out.flush()) throw Error(ErrorCode::kStoreWrite, "cannot write to standard output", "is its disk full?");
  return code;
}

int run(int argc, char** argv) {
  CLI::App app(
      "which sequence-parallel strategy fits this model, this sparsity and this cluster, and what makes the "
      "others slower?",
      "spscope");
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormat>(text_width()));
  CommandContext context{std::cout, std::cerr};
  CommandAction action;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer(std::string(long_help(command.name)));
    sub->callback([&action, declared = command.declare(*sub)] { action = declared; });
    std::vector<CLI::App*> takers = sub->get_subcommands(nullptr);
    takers.push_back(sub);
    for (CLI::App* taker : takers) {
      taker->add_flag("--json", context.json, "print the result as JSON");
      take_bytes(taker->add_option("--max-memory", context.max_memory_bytes,
                                   "memory that reading a file may take, such as 512MiB; 8GiB when not given"),
                 kLeastMaxMemoryBytes, kMostMaxMemoryBytes);
    }
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
  limit_memory(app, context);
  try {
    return finish(context, action(context));
  } catch (const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);  // the stack of a thread is memory too
    const bool no_thread = system != nullptr && system->code() == std::errc::resource_unavailable_try_again;
    if (!is_reader(app) || !(no_thread || memory_was_refused())) throw;
    // Here it is known what was read, and how much it was allowed.
    throw beyond_max_memory("cannot read " + files_given(app), context.max_memory_bytes, largest_store_allocation());
  }
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  spscope::explain_bus_errors();
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
