#include "backend/cli/progress_printer.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>

#include "backend/base/clock.h"
#include "backend/base/json.h"
#include "backend/base/printable_stream.h"

namespace spscope {
namespace {

constexpr std::int64_t kDrawnEveryNs = 50'000'000, kPlainEveryNs = 60'000'000'000, kJsonLeastNs = 1'000'000'000,
                       kJsonEveryNs = 10'000'000'000, kJsonCreditNs = 100 * kJsonLeastNs;
constexpr std::chrono::milliseconds kTick{500};

// "1:12, about 3:40 left: running ulysses u4 (2 of 5), layer 3 of 40"
std::string line_of(const RunProgress& p) { return time_text(p) + ": " + progress_text(p); }

// Cut to one line of the terminal: a longer one could not be erased.
std::string fitted(std::string line) {
  winsize window{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
  const std::size_t columns = known ? window.ws_col - 1u : 79u;
  if (line.size() > columns) line.resize(columns);
  return line;
}

}  // namespace

ProgressPrinter::ProgressPrinter(CommandContext& context, const std::string& form)
    : err_(context.err), json_(form == "json"), printed_ns_(now_ns()), credit_ns_(kJsonCreditNs) {
  if (json_) form_ = Form::kJson;
  if (form == "bar") form_ = context.progress ? Form::kDrawn : Form::kPlain;
}

void ProgressPrinter::operator()(const RunProgress& p) {
  if (form_ == Form::kNone) return;
  const std::lock_guard lock(mutex_);
  is_over_ = p.phase == "done";
  is_unprinted_ = !is_due(last_, p);
  last_ = p;
  if (!is_unprinted_) print(p);
  if (is_over_ || ticker_.joinable()) return;
  // Another thread waits for signals.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ticker_ = std::thread([this] { print_periodically(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool ProgressPrinter::is_due(const RunProgress& before, const RunProgress& now) const {
  const bool is_new = now.phase != before.phase || now.strategy != before.strategy;
  const std::int64_t at_ns = now_ns(), since_ns = at_ns - printed_ns_;
  if (form_ == Form::kPlain) return since_ns >= kPlainEveryNs;
  if (form_ == Form::kDrawn) return is_new || since_ns >= kDrawnEveryNs;
  const bool is_first = !ticker_.joinable();
  const bool is_change = (is_new || now.layer != before.layer) && credit_ns(at_ns) >= kJsonLeastNs;
  return !is_over_ && (is_first || is_change || since_ns >= kJsonLeastNs);
}

// Credit for lines that may be printed at once.
std::int64_t ProgressPrinter::credit_ns(std::int64_t at_ns) const {
  return std::min(kJsonCreditNs, credit_ns_ + (at_ns - printed_ns_));
}

void ProgressPrinter::print(const RunProgress& p) {
  const std::int64_t now = now_ns();
  credit_ns_ = credit_ns(now) - kJsonLeastNs;
  printed_ns_ = now;
  is_unprinted_ = false;
  if (form_ == Form::kJson) {
    err_ << fmt::format("{}\n", progress_json(p).dump());
    err_ << std::flush;
    return;
  }
  erase();
  if (is_over_) return;
  drawn_ = form_ == Form::kDrawn;
  err_ << (drawn_ ? fitted(line_of(p)) : line_of(p) + "\n") << std::flush;
}

void ProgressPrinter::print_periodically() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kTick, [&] { return is_over_; })) {
    const std::int64_t now = now_ns();
    const std::int64_t json_ns = is_unprinted_ ? kJsonLeastNs : kJsonEveryNs;
    const std::int64_t every_ns = form_ == Form::kJson ? json_ns : form_ == Form::kPlain ? kPlainEveryNs : 0;
    if (now - printed_ns_ >= every_ns) print(moved_on(last_, now));
  }
}

void ProgressPrinter::note(const std::string& text) {
  if (form_ != Form::kJson) warn(text);
}

void ProgressPrinter::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  erase();
  err_ << line_of_warning(text) + "\n" << std::flush;  // at once: mpirun writes there too
}

std::string ProgressPrinter::line_of_warning(const std::string& text) const {
  const std::string_view line(text.data(), text.find_last_not_of('\n') + 1);
  if (!json_) return std::string(line);
  const Json object = {{"note", line}};
  return object.dump();
}

void ProgressPrinter::set_last(const RunProgress& progress) {
  const std::lock_guard lock(mutex_);
  last_ = progress;
}

int ProgressPrinter::end(const Result<int>& code) {
  clear();
  const Error* error = code ? nullptr : &code.error();
  last_.exit_code = error == nullptr ? *code : exit_code(*error);
  if (error != nullptr) last_.cause = error->what(), last_.cause_id = error_id(error->code());
  if (last_.cause.empty()) last_.cause = "the result or the lines before say why";
  if (error != nullptr && (!reports_end_ || !error->problems().empty())) warn(render(*error));  // with all places
  if (form_ == Form::kJson && reports_end_)
    err_ << fmt::format("{}\n", end_json(last_, error != nullptr ? error->hint() : "", out_).dump());
  return *last_.exit_code;
}

void ProgressPrinter::clear() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    erase();
  }
  ended_.notify_all();
  if (ticker_.joinable()) ticker_.join();
}

void ProgressPrinter::erase() {
  if (drawn_) write_sequence(err_ << std::flush, "\r\033[K");
  drawn_ = false;
}

}  // namespace spscope
