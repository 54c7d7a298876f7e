// `spscope attach -o OUT -- PROGRAM ...`: runs a program that knows nothing of spscope, and stores what its GPUs do.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <vector>

#include "backend/attach/attach.h"
#include "backend/attach/watched_program.h"
#include "backend/base/ignored_signals.h"
#include "backend/base/json.h"
#include "backend/base/result.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/finish_output.h"
#include "backend/collect/loss_file.h"
#include "backend/collect/progress_page.h"
#include "backend/launch/mpirun.h"
#include "backend/record/collector_texts.h"
#include "backend/store/observed_run.h"
#include "collectors/cuda_driver.h"

namespace spscope {
namespace {

struct AttachFlags {
  std::vector<std::string> command;
  std::string output, scratch, acknowledge, signal;
  double delay_s = kNotGiven, duration_s = kNotGiven;
  bool force = false, profiler_ranges = false;

  static constexpr double kNotGiven = -1;
};

// Throws Error(kUsage): two of the ways of saying when exclude each other.
WindowSetup window_of(const AttachFlags& flags) {
  const bool has_delay = flags.delay_s >= 0, has_duration = flags.duration_s >= 0;
  std::vector<std::string> ways;
  if (has_delay || has_duration) ways.emplace_back(has_delay ? "--delay" : "--duration");
  if (!flags.signal.empty()) ways.emplace_back("--signal");
  if (flags.profiler_ranges) ways.emplace_back("--profiler-ranges");
  if (ways.size() > 1)
    throw Error(ErrorCode::kUsage, fmt::format("{} exclude each other", fmt::join(ways, " and ")),
                "give one of them: --delay and --duration say by the clock when attach collects, --signal lets you say "
                "it, and --profiler-ranges lets the program say it");
  WindowSetup setup = {.is_timed = has_delay || has_duration, .profiler_ranges = flags.profiler_ranges};
  if (has_delay) setup.delay_ns = std::llround(flags.delay_s * 1e9);
  if (has_duration) setup.duration_ns = std::llround(flags.duration_s * 1e9);
  if (!flags.signal.empty()) setup.signal = flags.signal == "USR1" ? SIGUSR1 : SIGUSR2;
  return setup;
}

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

// What attach says, on stderr: stdout is the program's. What several processes have is said of the first of them at
// once, of the others together at the end.
class Notes {
 public:
  explicit Notes(std::ostream& err) : err_(err) {}

  // By any thread: shards say that they failed on threads of their own.
  void say(const std::string& process, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (all_.add(text, process)) print(process.empty() ? text : fmt::format("{}: {}", process, text));
  }
  void say(const std::string& text) { say("", text); }
  void say_of_the_others() {
    const std::lock_guard lock(mutex_);
    for (const std::string& line : all_.lines_of_later()) print("also of " + line);
  }

  // What happens, and is no note.
  void tell(const std::string& text) {
    const std::lock_guard lock(mutex_);
    print(text);
  }
  // What is no note: it stands elsewhere in the JSON.
  // Its lines are each said to be of this program: the names of processes are theirs.
  void print(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) err_ << fmt::format("spscope attach: {}\n", line);
    err_ << std::flush;
  }

  Json json() const {
    Json list = Json::array();
    for (const TextsOfProcesses::Said& said : all_.said())
      list.push_back({{"text", said.text}, {"processes", Json(said.processes)}});
    return list;
  }

 private:
  std::ostream& err_;
  std::mutex mutex_;  // of what follows
  TextsOfProcesses all_;
};

// Why processes that were collected recorded nothing.
std::string why_nothing_was_recorded(const AttachEnd& end, const WindowSetup& window) {
  if (!window.is_used()) return "its processes recorded nothing";
  if (!end.windows.empty())
    return fmt::format("its processes recorded nothing {}, when attach collected", windows_text(end.windows));
  if (window.profiler_ranges)
    return "no process called cudaProfilerStart(), after which attach collects; without --profiler-ranges it collects "
           "all the time";
  if (window.signal != 0)
    return fmt::format(
        "attach did not get {0}, which starts collecting: send it by kill -{0} with the number that "
        "attach prints when it starts",
        signal_name(window.signal).substr(3));
  return fmt::format("the program ended before the {} s of --delay were over",
                     static_cast<double>(window.delay_ns) * 1e-9);
}

// "o.db" was not made, and why.
Error why_nothing_was_kept(const std::string& path, const AttachEnd& end, const WindowSetup& window) {
  const auto not_made = [&](const std::string& why, const std::string& hint = "",
                            ErrorCode code = ErrorCode::kCannotCollect) {
    return Error(code, fmt::format("\"{}\" was not made: {}", path, why), hint);
  };
  if (end.processes > 0 && end.lost > end.lost_samples)
    return not_made("none of what its processes recorded could be stored", "", ErrorCode::kStoreWrite);
  if (end.processes > 0) return not_made(why_nothing_was_recorded(end, window));
  if (end.not_collected > 0)
    return not_made(fmt::format("{} process{} that started CUDA could not be collected, and no other was",
                                end.not_collected, end.not_collected == 1 ? "" : "es"));
  constexpr const char* kHint =
      "if the program uses CUDA, see that it runs on this host, as this user and in this network namespace, and that "
      "nothing between attach and it clears CUDA_INJECTION64_PATH, as sudo, containers and srun --export=NONE do";
  if (end.refused_other_users)
    return not_made("attach refused processes of another user, and no process of this user asked to be collected",
                    kHint);
  if (missing_cuda_driver()) return not_made(kNoCudaDriver);
  return not_made("no process of the program asked to be collected", kHint);
}

// What became of what was collected.
struct Kept {
  std::optional<MergeReport> report;
  MergedRanks ranks;
  std::optional<Error> error;  // why OUT could not be made
};

// Without OUT they are known, too.
MergedRanks ranks_of(const RunOutput& output) {
  const Result<MergedRanks> ranks = capture([&] { return ranks_of_shards(output.note().shards()); });
  return ranks ? *ranks : MergedRanks();
}

// What was collected becomes OUT. That it did not is said, and changes nothing of how the program ended.
Kept keep(RunOutput& output, const AttachEnd& end, const WindowSetup& window, const ProgressPage& page,
          CommandContext& context, Notes& notes) {
  if (end.processes == 0 || !holds_events(output.note())) {
    output.discard();
    const Error why = why_nothing_was_kept(output.path(), end, window);
    notes.say(why.what());
    if (!why.hint().empty()) notes.say("  " + why.hint());
    return {.report = {}, .ranks = ranks_of(output), .error = end.failure.value_or(why)};
  }
  Result<MergeReport> report = capture([&] {
    if (end.failure) output.leave_to_recover(*end.failure);
    return output.merge({.tolerant = true, .tool_version = std::string(kVersion), .incidents = end.losses});
  });
  if (report) return {.report = *report, .ranks = report->ranks, .error = {}};
  page.set_cause(report.error().what(), -1, error_id(report.error().code()));
  context.err << render(report.error());
  return {.report = {}, .ranks = ranks_of(output), .error = report.error()};
}

void say_what_was_kept(Notes& notes, const std::string& path, const AttachEnd& end, const MergeReport& report) {
  notes.print(fmt::format("wrote {} with {} events of {} process{}", path, report.events, end.processes,
                          end.processes == 1 ? "" : "es"));
  if (!end.windows.empty()) notes.print(fmt::format("  collected {}", windows_text(end.windows)));
  if (report.dropped > 0) notes.print(fmt::format("  {} more were dropped because a buffer was full", report.dropped));
  if (report.unreadable > 0) notes.print(fmt::format("  {} more were unreadable", report.unreadable));
  if (const std::int64_t lost = report.lost + end.lost; lost > 0)
    notes.print(fmt::format("  {} more were lost before they were written", lost));
  if (end.not_collected > 0)
    notes.print(
        fmt::format("  {} process{} could not be collected", end.not_collected, end.not_collected == 1 ? "" : "es"));
  for (const CollectorSum& sum : sums_of(end.collectors)) notes.print("  " + line_of(sum));
  for (const std::string& text : report.notes) notes.say(text);
}

Json json_of(const CollectorRecord& record, const MergedRanks& ranks) {
  const auto ranked = ranks.of_processes.find(record.process);
  const bool has_rank = ranked != ranks.of_processes.end() && ranked->second;
  return {{"name", record.name},
          {"process", record.process.empty() ? Json() : Json(record.process)},
          {"rank", has_rank ? Json(*ranked->second) : Json()},
          {"outcome", collector_outcome_name(record.outcome)},
          {"records", record.cost.records},
          {"lost", knows_lost(sum_of({&record, 1})) ? Json(record.cost.dropped) : Json()},
          {"thread_ns", record.cost.thread_ns},
          {"memory_bytes", record.cost.memory_bytes},
          {"notes", Json(notes_of(record))}};
}

Json json_of(const Error& error) {
  return {{"id", error_id(error.code())},
          {"text", error.what()},
          {"hint", error.hint().empty() ? Json() : Json(error.hint())}};
}

// In nanoseconds from the begin of the program; null: attach collected all the time.
Json json_of(std::span<const CollectWindow> windows, const WindowSetup& window) {
  if (!window.is_used()) return Json();
  Json list = Json::array();
  for (const CollectWindow& one : windows) list.push_back({{"begin_ns", one.begin_ns}, {"end_ns", one.end_ns}});
  return list;
}

// What is said as text, on a line of its own: what the program printed before it may have no end of line.
void print_json(std::ostream& out, const std::string& path, const AttachEnd& end, const WindowSetup& window,
                const Kept& kept, const Notes& notes) {
  const bool was_killed = WIFSIGNALED(end.wait_status);
  Json collectors = Json::array();
  for (const CollectorRecord& record : end.collectors) collectors.push_back(json_of(record, kept.ranks));
  const MergeReport report = kept.report.value_or(MergeReport());
  const Json object = {{"schema_version", 1},
                       {"file", kept.report ? Json(path) : Json()},
                       {"error", kept.error ? json_of(*kept.error) : Json()},
                       {"exit_code", was_killed ? Json() : Json(WEXITSTATUS(end.wait_status))},
                       {"signal", was_killed ? Json(signal_name(WTERMSIG(end.wait_status))) : Json()},
                       {"processes", end.processes},
                       {"not_collected", end.not_collected},
                       {"ranks", Json(kept.ranks.all)},
                       {"windows", json_of(end.windows, window)},
                       {"events", report.events},
                       {"dropped", report.dropped},
                       {"unreadable", report.unreadable},
                       {"lost", report.lost + end.lost},
                       {"collectors", collectors},
                       {"notes", notes.json()}};
  out << '\n' << object.dump() << '\n' << std::flush;
}

int attach_and_keep(CommandContext& context, const AttachFlags& flags) {
  ignore_signal(SIGPIPE);  // a program that runs is worth more than what is said of it
  require_program(flags.command.front());
  Notes notes(context.err);
  AttachSetup setup;
  setup.command = flags.command;
  setup.window = window_of(flags);
  setup.on_window = [&](const std::string& text) { notes.tell(text); };
  setup.library = path_of_library();
  setup.acknowledge = flags.acknowledge;
  setup.tool_version = std::string(kVersion);
  setup.on_note = [&](const std::string& process, const std::string& text) { notes.say(process, text); };
  AttachEnd end;
  {
    RunOutput output(
        flags.output,
        {.force = flags.force, .scratch = flags.scratch, .on_note = [&](const std::string& text) { notes.say(text); }});
    const ProgressPage page(output.note().progress_page());
    const LossFile losses(output.note());
    end = attach(setup, output);
    notes.say_of_the_others();
    if (!end.losses.empty()) losses.write({end.lost, end.losses});
    const Kept kept = keep(output, end, setup.window, page, context, notes);
    if (kept.report) say_what_was_kept(notes, flags.output, end, *kept.report);
    if (!kept.ranks.text.empty()) notes.say(kept.ranks.text);
    if (context.json) print_json(context.out, flags.output, end, setup.window, kept, notes);
    context.output_is_finished = true;
    if (const std::optional<Error> lost = failure_of([&] { finish_output(context.out); })) context.err << render(*lost);
    page.set_end(exit_code_of(end.wait_status));
  }
  const int code = end_like(end.wait_status);
  if (end.driver_hangs) ::_exit(code);
  return code;
}

}  // namespace

Command declare_attach() {
  constexpr double kMostSeconds = 1e7;
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
       .help = "folder on a local disk for what is collected until the end; that of temporary files when not given",
       .target = &flags->scratch},
      {.names = "--delay",
       .help = "collect from so many seconds after the start of the program",
       .target = &flags->delay_s,
       .rule = NumberBetween{0, kMostSeconds},
       .value_name = "SECONDS"},
      {.names = "--duration",
       .help = "collect for so many seconds, from --delay or the start of the program; the program goes on",
       .target = &flags->duration_s,
       .rule = NumberBetween{0.001, kMostSeconds},
       .value_name = "SECONDS"},
      {.names = "--signal",
       .help = "start to collect when attach gets this signal, and stop when it gets it again",
       .target = &flags->signal,
       .rule = OneOf{{"USR1", "USR2"}}},
      {.names = "--profiler-ranges",
       .help = "collect in each process from cudaProfilerStart to cudaProfilerStop",
       .target = &flags->profiler_ranges},
      {.names = "--acknowledge",
       .help = "a named pipe or a file that gets a line for each commit",
       .target = &flags->acknowledge,
       .hidden = true},
  };
  command.action = [flags](CommandContext& context) { return attach_and_keep(context, *flags); };
  return command;
}

}  // namespace spscope
