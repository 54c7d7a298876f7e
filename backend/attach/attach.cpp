#include "backend/attach/attach.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "backend/attach/attach_socket.h"
#include "backend/attach/attachment.h"
#include "backend/attach/host_counters.h"
#include "backend/attach/missed_processes.h"
#include "backend/attach/watched_program.h"
#include "backend/attach/windows.h"
#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/job/machine.h"
#include "backend/record/attach_request.h"
#include "backend/store/observed_run.h"
#include "collectors/cuda_driver.h"

namespace spscope {
namespace {

constexpr int kNapMs = 5;                         // between two looks at what no descriptor tells of
constexpr std::int64_t kGraceNs = 1'000'000'000;  // for processes that outlive the program
constexpr std::size_t kMostRefusals = 1000;       // that are named, and as many that attach never heard of

// All processes of the program.
class Watch {
 public:
  Watch(const AttachSetup& setup, const CollectingNote& collection, const ClockFit& clock)
      : program_{.collection = collection, .clock = clock, .setup = setup, .changed = {}},
        windows_(setup.window, clock.raw_zero_ns) {}

  const AttachSocket& socket() const { return socket_; }
  // Of all processes, once follow() has returned.
  const AttachEnd& end() const { return end_; }
  std::vector<CollectWindow> windows(std::int64_t until_ns) const { return windows_.until(until_ns); }

  // Until the program has ended and everybody has an answer who waited for one then, or accept() has given none of them
  // for a second, and until its processes have ended, too, or a second later.
  void follow(WatchedProgram& program) {
    while (!is_over()) {
      wait_for_any(program);
      program.answer_signals();
      if (program.end() && ended_ns_ == 0) ended_ns_ = now_ns();
      answer_own_signals(program);
      accept_some();
      look_at_processes();
      windows_.follow_ranges(now_ns(), attached_);
    }
    if (!attached_.empty())
      setup().on_note(
          "", fmt::format("the program has ended, and {} of its processes that collect go on: what they do from "
                          "now on is not stored",
                          attached_.size()));
    for (std::unique_ptr<Attachment>& attachment : attached_) {
      attachment->begin_to_finish(true);
      finishing_.push_back(std::move(attachment));
    }
    attached_.clear();
    take_finished(true);
    if (counters_) finish_counters();
    name_missed();
    if (unnamed_ > 0) setup().on_note("", fmt::format("{} more were not collected", unnamed_));
    end_.incidents = not_collected_.incidents();
    end_.wait_status = *program.end();
  }

 private:
  const AttachSetup& setup() const { return program_.setup; }
  const CollectingNote& collection() const { return program_.collection; }
  bool is_late() const { return ended_ns_ != 0 && now_ns() - ended_ns_ >= kGraceNs; }
  bool is_deaf() const { return deaf_ns_ != 0 && now_ns() - std::max(deaf_ns_, ended_ns_) >= kGraceNs; }
  bool is_over() const {
    const bool all_ended = attached_.empty() && !socket_.expects_requests();
    return ended_ns_ != 0 && (most_waiting_ <= 0 || is_deaf()) && (all_ended || is_late());
  }

  void wait_for_any(const WatchedProgram& program) {
    const auto asks = static_cast<short>(deaf_ns_ == 0 ? POLLIN : 0);
    polled_.assign({{.fd = program.descriptor(), .events = POLLIN, .revents = 0},
                    {.fd = program_.changed.descriptor(), .events = POLLIN, .revents = 0},
                    {.fd = socket_.descriptor(), .events = asks, .revents = 0}});
    const std::size_t num_others = polled_.size();
    for (const std::unique_ptr<Attachment>& attachment : attached_)
      polled_.push_back({.fd = attachment->connection(), .events = POLLIN, .revents = 0});
    constexpr int kForever = -1;
    const bool is_told = !socket_.expects_requests() && !program.end() && deaf_ns_ == 0;
    ::poll(polled_.data(), polled_.size(), is_told ? kForever : kNapMs);
    program_.changed.hush();
    polled_.erase(polled_.begin(), polled_.begin() + static_cast<std::ptrdiff_t>(num_others));
  }

  void answer_own_signals(WatchedProgram& program) {
    for (int left = program.take_own_signals(); left > 0; --left) {
      const bool is_open = windows_.toggle(now_ns(), attached_);
      setup().on_window(fmt::format("{} kill -{} {} {}", is_open ? "collecting now;" : "collecting has ended;",
                                    signal_name(setup().window.signal).substr(3), ::getpid(),
                                    is_open ? "ends it" : "starts it again"));
    }
  }

  void accept_some() {
    AttachSocket::Asked asked = socket_.take();
    if (ended_ns_ != 0) most_waiting_ = asked.all ? 0 : most_waiting_ - asked.accepted;
    follow_deafness(asked);
    for (const AttachSocket::Refusal& one : asked.refused) refuse(one.process, one.why);
    if (asked.of_other_users > 0 && !end_.refused_other_users)
      setup().on_note("",
                      "a process of another user asked to be collected and was refused, as all such processes are: "
                      "start attach as the user whose programs it is to watch");
    end_.refused_other_users |= asked.of_other_users > 0;
    for (std::unique_ptr<AttachedProcess>& process : asked.processes) attach(std::move(process));
  }

  // Said at its first time.
  void follow_deafness(const AttachSocket::Asked& asked) {
    if (asked.error == 0 || asked.accepted > 0) {
      deaf_ns_ = 0;
    } else if (deaf_ns_ == 0) {
      deaf_ns_ = now_ns();
      if (!std::exchange(was_deaf_, true))
        setup().on_note("", fmt::format("processes that ask to be collected are not heard, nor counted, while accept() "
                                        "fails: {}",
                                        std::strerror(asked.error)));
    }
  }

  void attach(std::unique_ptr<AttachedProcess> process) {
    for (const std::unique_ptr<Attachment>& earlier : attached_) earlier->note_end();
    const std::string name = process->name();
    if (is_late()) return refuse(name, "the program had ended before it was its turn");
    windows_.tell(process->memory().windows);
    const std::string path = shard_path(process->rank());
    if (const std::optional<Error> failed =
            failure_of([&] { attached_.push_back(std::make_unique<Attachment>(std::move(process), path, program_)); }))
      refuse(name, fmt::format("attach could start no thread for it: {}; raise the limit of processes (ulimit -u)",
                               failed->what()));
    start_counters();
  }

  // Of a rank, the name that it has in runs; a second process of it, and those of no rank, are numbered.
  std::string shard_path(std::optional<int> rank) {
    const int number = ++numbered_;
    if (rank && ranks_.insert(*rank).second) return collection().rank_db(*rank);
    return fmt::format("{}/{}.process-{}.db", collection().folder, collection().stem, number);
  }

  // Once.
  void start_counters() {
    if (std::exchange(tried_counters_, true)) return;
    if (const std::optional<Error> none =
            failure_of([&] { counters_.emplace(collection(), program_.clock, windows_.of_host(), setup()); }))
      setup().on_note("",
                      fmt::format("attach could start no thread for counters of the GPUs, which are not collected: {}; "
                                  "raise the limit of processes (ulimit -u)",
                                  none->what()));
  }

  void finish_counters() {
    end_.collectors.push_back(counters_->finish());
    end_.driver_hangs = counters_->hangs();
    if (counters_->loss()) end_.losses.push_back(*counters_->loss());
    end_.lost_samples = counters_->lost();
    end_.lost += end_.lost_samples;
  }

  // `alike`: how many like it there were so far.
  void add_not_collected(const std::string& process, const std::string& why, std::size_t& alike) {
    ++end_.not_collected;
    not_collected_.add(process, why);
    if (++alike <= kMostRefusals)
      setup().on_note(process, "not collected: " + why);
    else
      ++unnamed_;
  }
  void refuse(const std::string& process, const std::string& why) { add_not_collected(process, why, refusals_); }

  // However many others were named.
  void name_missed() {
    std::size_t named = 0;
    for_each_missed(collection(), [&](const std::string& process, const std::string& why) {
      add_not_collected(process, why, named);
    });
  }

  // Those whose connection ended are finished. REQUIRES: wait_for_any() was called for the first of them.
  void look_at_processes() {
    std::size_t place = 0;
    for (std::unique_ptr<Attachment>& attachment : attached_) {
      const bool is_readable = place < polled_.size() && polled_[place].revents != 0;
      ++place;
      const bool ends = is_readable && has_ended(attachment->connection());
      if (ends) attachment->begin_to_finish(false);
      if (ends || attachment->is_finished()) finishing_.push_back(std::move(attachment));
    }
    std::erase(attached_, nullptr);
    take_finished(false);
  }

  // `wait`: for all of them.
  void take_finished(bool wait) {
    std::erase_if(finishing_, [&](const std::unique_ptr<Attachment>& attachment) {
      if (!wait && !attachment->is_finished()) return false;
      attachment->join();
      if (!attachment->why_refused().empty()) {
        refuse(attachment->name(), attachment->why_refused());
        return true;
      }
      ++(attachment->has_collected() ? end_.processes : end_.not_collected);
      windows_.add(attachment->collected());
      std::ranges::copy(attachment->collectors(), std::back_inserter(end_.collectors));
      if (attachment->loss()) end_.losses.push_back(*attachment->loss());
      end_.lost += attachment->lost();
      return true;
    });
  }

  const AttachedProgram program_;
  AttachWindows windows_;
  AttachSocket socket_;
  std::vector<std::unique_ptr<Attachment>> attached_, finishing_;
  std::optional<HostCounters> counters_;  // from the first process on: a program without CUDA starts nothing
  bool tried_counters_ = false;
  std::int64_t ended_ns_ = 0;                      // when the program had ended; 0: it runs
  int most_waiting_ = AttachSocket::kMostWaiting;  // of those who waited for an answer then
  std::vector<pollfd> polled_;                     // of attached_, those that were there when it waited
  AttachEnd end_;
  int numbered_ = 0;     // processes that asked
  std::set<int> ranks_;  // whose names shards have
  NotCollected not_collected_;
  std::size_t refusals_ = 0;  // of them
  std::int64_t unnamed_ = 0;  // that no note names
  std::int64_t deaf_ns_ = 0;  // since when accept() fails while somebody waits; 0: it does not
  bool was_deaf_ = false;
};

// A variable by which the program, or a library that it uses, loads a library.
struct Injection {
  const char* variable;
  std::size_t longest;  // path; a longer one is cut; 0: any is read
  const char* kept;     // what happens when it names another library, which is left alone
};

constexpr const char* kAnotherTool =
    "so that library is loaded in place of attach's: unset the variable to collect what it keeps from attach";
constexpr Injection kInjections[] = {
    {"CUDA_INJECTION64_PATH", 0, kAnotherTool},
    {"NCCL_PROFILER_PLUGIN", 254, kAnotherTool},
    {"NVTX_INJECTION64_PATH", 0,
     "so that library gets the NVTX ranges. attach stores them only if it is the libcupti that the program uses. Unset "
     "the variable, and attach chooses that library"},
};

// `notes` gets what the program's own variables change.
std::vector<std::pair<std::string, std::string>> variables_for(const AttachSetup& setup, const AttachSocket& socket,
                                                               const std::string& missed,
                                                               std::vector<std::string>& notes) {
  std::vector<std::pair<std::string, std::string>> variables = {{kAttachVariable, socket.name()},
                                                                {kMissedVariable, missed}};
  for (const Injection& injection : kInjections) {
    const char* const other = std::getenv(injection.variable);
    const bool is_free = other == nullptr || *other == '\0';
    const bool is_read = injection.longest == 0 || setup.library.size() <= injection.longest;
    if (is_free && is_read)
      variables.emplace_back(injection.variable, setup.library);
    else if (is_free)
      notes.push_back(
          fmt::format("attach leaves {} unset, since the path \"{}\" has {} characters and only {} are read there: "
                      "install spscope in a folder with a shorter path",
                      injection.variable, setup.library, setup.library.size(), injection.longest));
    else if (other != setup.library)
      notes.push_back(fmt::format("{} is set to \"{}\", {}", injection.variable, other, injection.kept));
  }
  return variables;
}

// "python train.py"
std::string text_of(const std::vector<std::string>& command) { return fmt::format("{}", fmt::join(command, " ")); }

std::optional<IncidentRecord> incident_of(int wait_status, const std::vector<std::string>& command) {
  if (!WIFSIGNALED(wait_status)) return std::nullopt;
  IncidentRecord incident;
  incident.kind = IncidentKind::kKilled;
  incident.message = fmt::format("{} was ended by {}", ObservedRun{.command = text_of(command)}.short_command(),
                                 signal_name(WTERMSIG(wait_status)));
  return incident;
}

}  // namespace

AttachEnd attach(const AttachSetup& setup, const RunOutput& output) {
  const CollectingNote& note = output.note();
  WriteOptions write;
  write.tool_version = setup.tool_version;
  StoreWriter head =
      StoreWriter::shard(note.head_db(), {ShardKind::kHead, ShardClock::kRun, -1, note.collection}, write);
  head.add_machine(machine_facts());
  ObservedRun run;
  run.run = begin_observed_run(head, text_of(setup.command));
  const ClockFit clock = {.raw_zero_ns = now_ns()};  // the run clock begins with the program
  Watch watch(setup, note, clock);
  // Later ones are in the shards of processes until the end.
  if (setup.window.is_used()) set_collect_windows(head, watch.windows(CollectWindow::kOpen));
  head.checkpoint();
  std::vector<std::string> notes;
  WatchedProgram program(setup.command, variables_for(setup, watch.socket(), make_missed_file(note), notes),
                         setup.window.signal);
  if (setup.window.signal != 0)
    setup.on_window(
        fmt::format("kill -{} {} starts and ends collecting", signal_name(setup.window.signal).substr(3), ::getpid()));
  if (!notes.empty() && missing_cuda_driver()) setup.on_note("", kNoCudaDriver);
  for (const std::string& text : notes) setup.on_note("", text);
  watch.follow(program);
  AttachEnd end = watch.end();
  run.end_ns = now_ns() - clock.raw_zero_ns;
  end.windows = watch.windows(clock.raw_zero_ns + run.end_ns);
  end.failure = failure_of([&] {
    if (setup.window.is_used()) set_collect_windows(head, end.windows);
    if (const std::optional<IncidentRecord> incident = incident_of(end.wait_status, setup.command))
      head.add_incident(*incident);
    for (const IncidentRecord& incident : end.incidents) head.add_incident(incident);
    if (end.driver_hangs) head.add_collector(end.collectors.back());  // which the shard of the host does not say
    end_observed_run(head, run);
    head.finish();
    remove_missed_file(note);
  });
  return end;
}

}  // namespace spscope
