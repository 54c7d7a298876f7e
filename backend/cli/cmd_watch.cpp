// `spscope watch OUT`: what a run that is still going on does at this moment, again and again until it ends. Only
// reads.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>

#include "backend/cli/command.h"
#include "backend/cli/watch_view.h"
#include "backend/store/output_file.h"

namespace spscope {
namespace {

struct WatchFlags {
  std::string file;
  bool once = false;
  double every_s = 0.5;
};

int terminal_columns() {
  winsize window{};
  constexpr int kUnknown = 120;
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : kUnknown;
}

CollectingNote collection_of(const std::string& file) {
  if (std::optional<CollectingNote> note = find_collection(file)) return *note;
  std::error_code ignored;
  if (file_kind(file) == FileKind::kForeign)
    throw Error(ErrorCode::kStoreForeign,
                fmt::format("\"{}\" is no stored run of spscope, and no run is writing it", file),
                "name the file that a run was given with -o");
  if (std::filesystem::exists(file, ignored))
    throw Error(ErrorCode::kStoreOpen, fmt::format("no run is writing \"{}\": it is finished", file),
                "spscope compare shows what it holds");
  throw Error(ErrorCode::kStoreOpen, fmt::format("no run is writing \"{}\"", file),
              "name the file that a run was given with -o, its .collecting file, or its folder in run.scratch");
}

int tell_end(CommandContext& context, const WatchedRun& last, const CollectingNote& note, bool json) {
  std::error_code ignored;
  const bool kept = std::filesystem::exists(last.out, ignored);
  if (last.state == "died") {
    if (!json)
      context.out << fmt::format(
          "the run ended early; spscope recover \"{}\" -o FILE.db makes a file of what it left\n",
          note.is_part() ? note.folder : last.out);
    return kExitFailed;
  }
  if (!json && note.is_part())
    context.out << fmt::format("the run has ended; what its ranks here did went to host {}\n", note.home_host);
  else if (!json)
    context.out << (kept ? fmt::format("the run has ended; it is kept in {}\n", last.out)
                         : std::string("the run has ended; nothing was kept\n"));
  return kExitDone;
}

int watch(CommandContext& context, const WatchFlags& flags) {
  const CollectingNote note = collection_of(flags.file);
  RunWatch run(note);
  const bool drawn = context.color && !context.json && !flags.once;  // over itself
  for (;;) {
    const WatchedRun seen = run.look();
    const bool over = seen.state == "ended" || seen.state == "died";
    if (context.json) {
      context.out << render_watch_json(seen) << '\n';
    } else {
      if (drawn) context.out << "\033[H\033[2J";
      context.out << render_watch_text(seen, terminal_columns());
    }
    context.out << std::flush;
    if (over) return tell_end(context, seen, note, context.json);
    if (flags.once || !context.out) return kExitDone;
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.every_s));
  }
}

}  // namespace

CommandAction declare_watch(CLI::App& app) {
  auto flags = std::make_shared<WatchFlags>();
  app.add_option("file", flags->file, "what the run was given with -o, its .collecting file, or its folder")
      ->required();
  app.add_flag("--once", flags->once, "one look, then end");
  app.add_option("--every", flags->every_s, "seconds between two looks: 0.1 to 60")->check(CLI::Range(0.1, 60.0));
  return [flags](CommandContext& context) { return watch(context, *flags); };
}

}  // namespace spscope
