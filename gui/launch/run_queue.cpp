#include "gui/launch/run_queue.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "backend/base/clock.h"
#include "backend/base/json.h"
#include "backend/base/result.h"

namespace spscope::gui {
namespace {

constexpr std::int64_t kBetweenSignalsNs = 1'050'000'000;  // docs: a second signal counts a second after the first
constexpr int kLastWords = 8;

int whole(const Json& line, std::string_view key) {
  const Json* value = line.find(key);
  return value != nullptr ? static_cast<int>(value->integer(INT32_MIN, INT32_MAX).value_or(0)) : 0;
}

// The last line of the program says why a run failed.
void read_failure(const Json& line, QueuedRun& run) {
  const Json* failure = line.find("failure");
  if (failure == nullptr || !failure->is_object()) return;
  const std::string code = failure->text_or("code", "");
  run.why = (code.empty() ? "" : code + ": ") + failure->text_or("message", "");
  run.hint = failure->text_or("hint", "");
}

}  // namespace

std::string_view run_state_name(RunState state) {
  constexpr std::string_view kNames[] = {"waiting", "running", "stopping", "done", "failed", "stopped", "cancelled"};
  return kNames[static_cast<int>(state)];
}

RunProgress progress_of(const Json& line) {
  RunProgress progress;
  progress.phase = line.text_or("phase", "input");
  progress.strategy = line.text_or("strategy", "");
  progress.label = line.text_or("label", "");
  progress.strategy_number = whole(line, "strategy_number");
  progress.strategies = whole(line, "strategies");
  progress.layer = whole(line, "layer");
  progress.layers = whole(line, "layers");
  progress.denoise_step = whole(line, "denoise_step");
  progress.denoise_steps = whole(line, "denoise_steps");
  progress.warmups_done = whole(line, "warmup");
  progress.warmups = whole(line, "warmups");
  progress.repeat = whole(line, "repeat");
  progress.repeats = whole(line, "repeats");
  progress.ranks_measured = whole(line, "ranks_measured");
  progress.ranks_to_measure = whole(line, "ranks_to_measure");
  progress.done = whole(line, "done");
  progress.total = whole(line, "total");
  progress.shards = whole(line, "shards");
  if (const Json* elapsed = line.find("elapsed_s"); elapsed != nullptr && elapsed->is_number())
    progress.elapsed_s = elapsed->number();
  if (const Json* left = line.find("eta_s"); left != nullptr && left->is_number()) progress.eta_s = left->number();
  if (line.contains("exit_code")) progress.exit_code = whole(line, "exit_code");
  progress.said_ns = now_ns();
  return progress;
}

bool QueuedRun::can_stop_now(std::int64_t now) const {
  return state == RunState::kStopping && now - stop_asked_ns >= kBetweenSignalsNs;
}

int RunQueue::add(std::string title, std::vector<std::string> words, std::string out) {
  // What only the window asks for: of a run its progress, of advice an answer to make a table of.
  constexpr std::string_view kProgress = "--progress=json", kAnswer = "--json";
  const std::string verb = words.size() > 1 ? words[1] : "";
  if (const std::string_view more = verb == "run"      ? kProgress
                                    : verb == "advise" ? kAnswer
                                                       : "";
      !more.empty() && words.back() != more)
    words.emplace_back(more);
  QueuedRun& run = runs_.emplace_back();
  run.number = ++last_number_;
  run.title = std::move(title);
  run.words = std::move(words);
  run.out = std::move(out);
  return run.number;
}

QueuedRun* RunQueue::at(int number) {
  const auto found = std::ranges::find(runs_, number, &QueuedRun::number);
  return found != runs_.end() ? &*found : nullptr;
}
const QueuedRun* RunQueue::find(int number) const { return const_cast<RunQueue*>(this)->at(number); }

const QueuedRun* RunQueue::current() const {
  const auto found = std::ranges::find_if(runs_, &QueuedRun::goes_on);
  return found != runs_.end() ? &*found : nullptr;
}

bool RunQueue::poll() {
  if (const QueuedRun* now = current()) {
    QueuedRun& run = *at(now->number);
    if (!child_->poll()) return false;
    const std::string& errors = child_->errors();
    for (std::size_t end; (end = errors.find('\n', read_)) != std::string::npos; read_ = end + 1) {
      const std::string line = errors.substr(read_, end - read_);
      if (!line.starts_with("{")) {
        if (!line.empty()) run.said = line;
      } else if (const std::optional<Json> json = Json::parse(line); json && json->contains("note")) {
        run.notes.push_back(json->text_or("note", ""));
      } else if (json) {
        run.progress = progress_of(*json);
        read_failure(*json, run);
      }
    }
    run.printed = child_->output();
    if (child_->end()) finish(run);
    return true;
  }
  const auto next = std::ranges::find(runs_, RunState::kWaiting, &QueuedRun::state);
  if (held_ || next == runs_.end()) return false;
  read_ = 0;
  next->begin_ns = now_ns();
  if (const auto failure = failure_of([&] { child_ = std::make_unique<Child>(next->words); })) {
    next->state = RunState::kFailed;
    next->why = failure->what();
    next->hint = failure->hint();
  } else {
    next->state = RunState::kRunning;
  }
  return true;
}

void RunQueue::finish(QueuedRun& run) {
  run.end = child_->end();
  run.state = run.end->code == 0 ? RunState::kDone : run.stop_asked_ns != 0 ? RunState::kStopped : RunState::kFailed;
  if (run.end->code != 0 && run.why.empty()) {
    const std::string words = last_words(child_->errors(), kLastWords);
    run.why = run.end->signal != 0 ? "it was ended by " + end_text(*run.end)
              : words.empty()      ? "it ended with " + end_text(*run.end)
                                   : words;
    if (run.end->signal != 0 && !words.empty()) run.why += "\n" + words;
  }
  child_.reset();
}

void RunQueue::stop(int number) {
  QueuedRun* run = at(number);
  if (run == nullptr) return;
  const std::int64_t now = now_ns();
  if (run->state == RunState::kWaiting) {
    run->state = RunState::kCancelled;
  } else if (run->state == RunState::kRunning || run->can_stop_now(now)) {
    child_->signal(SIGTERM);
    run->state = RunState::kStopping;
    run->stop_asked_ns = now;
  }
}

void RunQueue::remove(int number) {
  std::erase_if(runs_, [&](const QueuedRun& run) { return run.number == number && !run.goes_on(); });
}

}  // namespace spscope::gui
