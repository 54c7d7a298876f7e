// `spscope attach -o OUT -- PROGRAM ...`: runs a program that knows nothing of spscope, and stores what its GPUs do.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>

#include "backend/attach/attach.h"
#include "backend/attach/watched_program.h"
#include "backend/base/result.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/collect/progress_page.h"
#include "backend/launch/mpirun.h"

namespace spscope {
namespace {

struct AttachFlags {
  std::vector<std::string> command;
  std::string output, scratch, acknowledge;
  bool force = false;
};

// In the tree of a build, of an installation and of the portable bundle alike.
std::string path_of_library() {
  const std::filesystem::path path =
      std::filesystem::path(path_of_this_program()).parent_path() / "../lib/spscope/libspscope_inject.so";
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(path, error);
  if (!error) return found.string();
  throw Error(
      ErrorCode::kCannotCollect,
      fmt::format("the library that programs load is not there: \"{}\"", path.lexically_normal().string()),
      "install spscope as a whole: libspscope_inject.so belongs into ../lib/spscope beside the program's folder");
}

void explain_nothing(const std::function<void(const std::string&)>& note) {
  note(
      "no process of the program started CUDA with the injection library, so nothing was collected and no file was "
      "made");
  note(
      "  if the program uses CUDA, see that nothing between attach and it clears CUDA_INJECTION64_PATH, by which the "
      "library is loaded (sudo, containers, srun --export=NONE), and that it runs on this host");
}

// What was collected becomes OUT. An error is told, and changes nothing of how the program ended.
void keep(RunOutput& output, const AttachFlags& flags, const AttachEnd& end, const ProgressPage& page,
          CommandContext& context, const std::function<void(const std::string&)>& note) {
  if (end.processes == 0) {
    output.discard();
    return explain_nothing(note);
  }
  if (!holds_events(output.note())) {
    output.discard();
    return note("nothing was recorded, and no file was made");
  }
  const Result<MergeReport> report =
      capture([&] { return output.merge({.tolerant = true, .tool_version = std::string(kVersion)}); });
  if (!report) {
    page.set_cause(report.error().what(), -1, error_id(report.error().code()));
    context.err << render(report.error());
    return;
  }
  note(fmt::format("wrote {} with {} events of {} process{}", flags.output, report->events, end.processes,
                   end.processes == 1 ? "" : "es"));
  if (report->dropped > 0) note(fmt::format("  {} more were dropped because a buffer was full", report->dropped));
  if (report->unreadable > 0) note(fmt::format("  {} more were unreadable", report->unreadable));
  for (const auto& [name, cost] : end.costs) note(fmt::format("  {}: {}", name, cost_text(cost)));
  for (const std::string& text : report->notes) note(text);
}

// All that attach says goes to stderr: stdout is the program's.
int attach_and_keep(CommandContext& context, const AttachFlags& flags) {
  std::set<std::string> said;
  std::mutex mutex;  // shards say that they failed on threads of their own
  const auto note = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    if (said.insert(text).second) context.err << fmt::format("spscope attach: {}\n", text) << std::flush;
  };
  AttachSetup setup;
  setup.command = flags.command;
  setup.library = path_of_library();
  setup.acknowledge = flags.acknowledge;
  setup.tool_version = std::string(kVersion);
  setup.on_note = note;
  AttachEnd end;
  {
    RunOutput output(flags.output, {.force = flags.force, .scratch = flags.scratch, .on_note = note});
    const ProgressPage page(output.note().progress_page());
    const Result<AttachEnd> ended = capture([&] { return attach(setup, output); });
    if (!ended) {
      output.discard();
      throw ended.error();
    }
    end = *ended;
    keep(output, flags, end, page, context, note);
    page.set_end(exit_code_of(end.wait_status));
  }
  return end_like(end.wait_status);
}

}  // namespace

Command declare_attach() {
  auto flags = std::make_shared<AttachFlags>();
  Command command;
  command.flags = {
      {.names = "command",
       .help = "the program and its arguments, after --",
       .target = &flags->command,
       .required = true,
       .is_program = true},
      {.names = "-o,--output", .help = "file to write", .target = &flags->output, .required = true},
      {.names = "--force", .help = "replace the output when it is a stored run", .target = &flags->force},
      {.names = "--scratch",
       .help = "folder on a local disk for what is collected until then; that of temporary files when not given",
       .target = &flags->scratch},
      {.names = "--acknowledge",
       .help = "a named pipe or a file that gets a line for each commit",
       .target = &flags->acknowledge,
       .hidden = true},
  };
  command.action = [flags](CommandContext& context) { return attach_and_keep(context, *flags); };
  return command;
}

}  // namespace spscope
