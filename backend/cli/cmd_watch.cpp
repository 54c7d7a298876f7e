// `spscope watch OUT`: the state of a run in progress, refreshed until the run ends. Only reads.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>

#include "backend/base/printable.h"
#include "backend/base/printable_stream.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/cli/print_watch.h"
#include "backend/store/output_file.h"

namespace spscope {
namespace {

struct WatchFlags {
  std::string file;
  bool once = false;
  double every_s = 0.5;
};

CollectingNote collection_of(const std::string& file) {
  if (std::optional<CollectingNote> note = find_collection(file)) return *note;
  std::error_code ignored;
  if (const FileKind kind = file_kind(file); kind == FileKind::kForeign || kind == FileKind::kEmpty)
    throw Error(ErrorCode::kStoreForeign,
                fmt::format("\"{}\" is not a stored run of spscope, and no run is writing it", file),
                "name the file that a run was given with -o");
  if (std::filesystem::exists(file, ignored))
    throw Error(ErrorCode::kStoreOpen, fmt::format("no run is writing \"{}\": it is finished", file),
                "spscope report shows what it holds");
  throw Error(ErrorCode::kStoreOpen, fmt::format("no run is writing \"{}\"", file),
              "name the file that a run was given with -o, its .collecting file, or its folder in run.scratch");
}

// Prints how the run ended. Returns its exit code; where it recorded none, kExitDone if OUT exists.
int print_end(CommandContext& context, const WatchedRun& last, const CollectingNote& note, bool json) {
  const std::string why = last.failure().empty() ? "" : ": " + printable_line(last.failure());
  if (last.state == "died") {
    if (!json)
      context.out << fmt::format(
          "the run ended early{}\nspscope recover \"{}\" -o FILE.db makes a file of what it left\n", why,
          note.is_part() ? note.folder : last.out);
    return kExitFailed;
  }
  if (note.is_part()) {
    if (!json)
      context.out << fmt::format("the run has ended; the events of its ranks on this host were sent to host {}\n",
                                 note.home_host);
    return kExitDone;
  }
  std::error_code ignored;
  const bool exists = std::filesystem::exists(last.out, ignored);
  const bool has_code = last.progress && last.progress->exit_code, known = has_code || !last.failure().empty();
  const int code = has_code ? *last.progress->exit_code : !known && exists ? kExitDone : kExitFailed;
  if (json) return code;
  const std::string kept = exists ? "kept in " + last.out : std::string("nothing was kept");
  if (!known)
    context.out << fmt::format("the run has ended, its exit code is unknown; {} {}\n", last.out,
                               exists ? "exists" : "does not exist");
  else if (code == kExitDone)
    context.out << fmt::format("the run has ended after {}; {}\n", clock_text(last.progress->elapsed_s), kept);
  else
    context.out << fmt::format("the run failed{}\n{}\n", why, kept);
  return code;
}

int watch(CommandContext& context, const WatchFlags& flags) {
  const CollectingNote note = collection_of(flags.file);
  RunWatch run(note);
  const bool drawn = context.color && !context.json && !flags.once;  // over itself
  for (;;) {
    const WatchedRun seen = run.look();
    if (context.json) {
      context.out << render_watch_json(seen) << '\n';
    } else {
      if (drawn) write_sequence(context.out, "\033[H\033[2J");
      context.out << render_watch_text(seen, terminal_columns());
    }
    context.out << std::flush;
    if (seen.is_over()) return print_end(context, seen, note, context.json);
    if (flags.once || !context.out) return seen.failure().empty() ? kExitDone : kExitFailed;
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.every_s));
  }
}

}  // namespace

Command declare_watch() {
  auto flags = std::make_shared<WatchFlags>();
  Command command;
  command.flags = {
      {.names = "file",
       .help = "what the run was given with -o, its .collecting file, or its folder",
       .target = &flags->file,
       .required = true},
      {.names = "--once", .help = "print the state once, then exit", .target = &flags->once},
      {.names = "--every",
       .help = "seconds between two updates: 0.1 to 60; 0.5 when not given",
       .target = &flags->every_s,
       .rule = NumberBetween{0.1, 60},
       .value_name = "SECONDS"},
  };
  command.action = [flags](CommandContext& context) { return watch(context, *flags); };
  return command;
}

}  // namespace spscope
