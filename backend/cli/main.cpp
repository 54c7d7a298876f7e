// The `spscope` program: finds the command, parses its flags, runs it, and turns errors into text and an exit code.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "backend/base/ignored_signals.h"
#include "backend/base/memory_limit.h"
#include "backend/base/memory_refused.h"
#include "backend/base/printable_stream.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/finish_output.h"
#include "backend/cli/help.h"
#include "backend/cli/parse_command_line.h"
#include "backend/config/environment.h"
#include "backend/execute/device_environment.h"
#include "backend/launch/bus_error.h"
#include "backend/report/render.h"
#include "backend/store/sqlite/store_memory.h"

namespace spscope {
namespace {

bool is_terminal(int descriptor) { return isatty(descriptor) != 0; }

// Whether escape sequences may be written: to a terminal that knows them. mpirun gives each process a pseudo terminal,
// whose output it may write to a file.
bool takes_escapes(int descriptor) { return is_terminal(descriptor) && !terminal_is_dumb() && !started_by_mpi(); }

bool takes_colors(int descriptor) { return takes_escapes(descriptor) && !colors_are_forbidden(); }

constexpr std::int64_t kLeastMaxMemoryBytes = 1 << 20, kMostMaxMemoryBytes = std::int64_t{1} << 50;

// Commands whose own work takes memory, by what was asked and not by what a file holds, or that of a program that they
// start.
constexpr std::array<std::string_view, 6> kWorkers = {"run", "plan", "calibrate", "advise", "sweep", "attach"};

// The others do little but read: a file that unfolds beyond the limit stops them.
bool is_reader(const ChosenCommand& command) { return std::ranges::find(kWorkers, command.name) == kWorkers.end(); }

void limit_memory(const ChosenCommand& command, const CommandContext& context) {
  if (!is_reader(command)) return;
  limit_store_memory(context.max_memory_bytes);
  cap_process_memory(context.max_memory_bytes);
  note_refused_memory();
}

// What was read when memory ran out, as it was given.
std::string files_given(const ChosenCommand& command) {
  std::string files;
  for (const std::string& file : command.arguments) files += (files.empty() ? "\"" : ", \"") + file + "\"";
  return files;
}

// The flags that every command has, and each command below it.
void add_common_flags(Command& command, CommandContext& context) {
  command.flags.push_back({.names = "--json", .help = "print the result as JSON", .target = &context.json});
  command.flags.push_back({.names = "--max-memory",
                           .help = "memory that reading a file may take, such as 512MiB; 8GiB when not given",
                           .target = &context.max_memory_bytes,
                           .rule = BytesBetween{kLeastMaxMemoryBytes, kMostMaxMemoryBytes}});
  for (Command& below : command.commands) add_common_flags(below, context);
}

// The program as a command, with those of commands.def below it.
Command declare_program(CommandContext& context) {
  Command program;
  program.name = "spscope";
  program.summary =
      "which sequence-parallel strategy fits this model, this sparsity and this cluster, and what makes the "
      "others slower?";
  program.text =
      "To begin:\n"
      "  spscope advise --model wan2.1-t2v-14b --cluster h100x8   which strategy? modelled, in seconds\n"
      "  spscope gui                                              a window, with a demo to open\n";
  for (const CommandRow& row : commands()) {
    Command command = row.declare();
    command.name = row.name;
    command.summary = row.summary;
    command.text = long_help(row.name);
    add_common_flags(command, context);
    program.commands.push_back(std::move(command));
  }
  return program;
}

int run(int argc, char** argv, PrintableStream& out, PrintableStream& err) {
  CommandContext context{out, err};
  const auto parsed = parse_command_line(declare_program(context), std::string(kVersion), argc, argv, out, err);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const auto& command = std::get<ChosenCommand>(parsed);
  context.color = takes_colors(STDOUT_FILENO);
  if (context.color) out.let_colors_pass();
  context.progress = takes_escapes(STDERR_FILENO) && !context.json;
  limit_memory(command, context);
  try {
    const int code = command.action(context);
    if (!context.output_is_finished) finish_output(context.out);
    return code;
  } catch (const std::exception& error) {
    // A program that asked for JSON reads what to mend from it too; people read it on standard error.
    if (const auto* fault = dynamic_cast<const Error*>(&error);
        fault != nullptr && context.json && exit_code(*fault) == kExitUsage)
      context.out << render_json(*fault) << std::flush;
    const auto* system = dynamic_cast<const std::system_error*>(&error);  // the stack of a thread is memory too
    const bool no_thread = system != nullptr && system->code() == std::errc::resource_unavailable_try_again;
    if (!is_reader(command) || !(no_thread || memory_was_refused())) throw;
    // Here it is known what was read, and how much it was allowed.
    throw beyond_max_memory("cannot read " + files_given(command), context.max_memory_bytes,
                            largest_store_allocation());
  }
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  spscope::explain_bus_errors();
  spscope::ignore_signal(SIGXFSZ);  // a write beyond the limit of the size of a file fails, and is told
  spscope::set_device_environment();
  // All that any command says goes through these two.
  spscope::PrintableStream out(std::cout), err(std::cerr);
  try {
    return spscope::run(argc, argv, out, err);
  } catch (const spscope::Error& error) {
    err << spscope::render(error);
    return spscope::exit_code(error);
  } catch (const std::bad_alloc&) {
    err << spscope::render(spscope::Problem{spscope::ErrorCode::kMemory,
                                            "",
                                            "the memory of this machine is full",
                                            "use fewer ranks, tokens, layers or repeats",
                                            {}});
    return spscope::kExitFailed;
  } catch (const std::exception& error) {
    err << spscope::render(spscope::Problem{
        spscope::ErrorCode::kInternal, "", error.what(), "this is a defect of spscope; please report it", {}});
    return spscope::kExitFailed;
  }
}
