#include "backend/cli/progress_printer.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "backend/base/clock.h"

namespace spscope {
namespace {

constexpr std::int64_t kPlainEveryNs = 60'000'000'000;

// "2,000"
std::string grouped(int number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

// "run 12 of 2,000 layer passes: usp u4 r2, about 30 s left"
std::string line_of(const RunProgress& p) {
  if (p.phase == "merge") return fmt::format("{} of {} layer passes are done", grouped(p.done), grouped(p.total));
  std::string line = fmt::format("{} {} of {} layer passes: {}", p.phase, grouped(std::min(p.done + 1, p.total)),
                                 grouped(p.total), p.label);
  if (p.eta_s >= 1) line += fmt::format(", about {:.0f} s left", p.eta_s);
  return line;
}

}  // namespace

ProgressPrinter::ProgressPrinter(CommandContext& context, const std::string& form)
    : err_(context.err), said_ns_(now_ns()) {
  if (form == "json") form_ = Form::kJson;
  if (form == "bar") form_ = context.progress ? Form::kDrawn : Form::kPlain;
}

void ProgressPrinter::operator()(const RunProgress& p) {
  if (form_ == Form::kJson) {
    const nlohmann::ordered_json line = {{"phase", p.phase},  {"strategy", p.strategy}, {"repeat", p.repeat},
                                         {"done", p.done},    {"total", p.total},       {"eta_s", p.eta_s},
                                         {"shards", p.shards}};
    fmt::print(err_, "{}\n", line.dump());
  }
  if (p.phase == "done") return clear();
  if (form_ == Form::kDrawn) {
    clear();
    err_ << line_of(p) << std::flush;
    drawn_ = true;
  } else if (form_ == Form::kPlain && now_ns() - said_ns_ >= kPlainEveryNs) {
    err_ << line_of(p) << "\n" << std::flush;
    said_ns_ = now_ns();
  }
}

void ProgressPrinter::note(const std::string& text) {
  if (form_ == Form::kJson) return;
  clear();
  err_ << text << "\n" << std::flush;
}

void ProgressPrinter::warn(const std::string& text) {
  if (form_ == Form::kJson) {
    const nlohmann::ordered_json line = {{"note", text}};
    fmt::print(err_, "{}\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    err_ << std::flush;
    return;
  }
  clear();
  err_ << text << "\n" << std::flush;
}

void ProgressPrinter::clear() {
  if (drawn_) err_ << "\r\033[K" << std::flush;
  drawn_ = false;
}

}  // namespace spscope
