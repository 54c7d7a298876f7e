#include "backend/collect/run_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/base/clock.h"
#include "backend/base/number_text.h"

namespace spscope {
namespace {

// "usp u4 r2 (2 of 5)"
std::string strategy_text(const RunProgress& p) {
  return fmt::format("{} ({} of {})", p.label, p.strategy_number, p.strategies);
}

std::string doing(const RunProgress& p) {
  if (p.phase == "input") return "making masks and inputs";
  if (p.phase == "reference") return "computing the reference outputs";
  if (p.phase == "plan") return "planning " + strategy_text(p);
  if (p.phase == "run") return (p.ranks_to_measure > 0 ? "measuring " : "running ") + strategy_text(p);
  if (p.phase == "check") return "checking outputs of " + strategy_text(p);
  if (p.phase == "merge") return "merging";
  return p.phase;
}

// Which warm-up or repeat of the plan is running.
std::string pass_text(const RunProgress& p) {
  if (p.phase != "run") return "";
  if (p.ranks_to_measure > 0)
    return fmt::format(", rank {} of {}", std::min(p.ranks_measured + 1, p.ranks_to_measure), p.ranks_to_measure);
  if (p.warmups_done < p.warmups) return fmt::format(", warm-up {} of {}", p.warmups_done + 1, p.warmups);
  if (p.repeats > 1) return fmt::format(", repeat {} of {}", std::min(p.repeat + 1, p.repeats), p.repeats);
  return "";
}

}  // namespace

RunProgress moved_on(RunProgress progress, std::int64_t now_ns) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(0, now_ns - progress.said_ns)) * 1e-9;
  if (progress.exit_code) return progress;
  progress.elapsed_s += seconds;
  progress.said_ns = now_ns;
  // It takes longer than predicted: the rest is not known.
  if (progress.eta_s && *progress.eta_s < seconds)
    progress.eta_s.reset();
  else if (progress.eta_s)
    *progress.eta_s -= seconds;
  return progress;
}

std::string progress_text(const RunProgress& p) {
  std::string text = doing(p);
  const bool somewhere = p.phase != "merge" && p.phase != "done";
  if (somewhere && p.layers > 1) text += fmt::format(", layer {} of {}", p.layer + 1, count_text(p.layers));
  if (somewhere && p.denoise_steps > 1)
    text += fmt::format(", denoise step {} of {}", count_text(p.denoise_step + 1), count_text(p.denoise_steps));
  return text + pass_text(p);
}

std::string time_text(const RunProgress& p) {
  std::string text = clock_text(p.elapsed_s);
  if (p.eta_s && *p.eta_s >= 1) text += fmt::format(", about {} left", clock_text(*p.eta_s));
  return text;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, rest);
  return minutes > 0 ? fmt::format("{}:{:02}", minutes, rest) : fmt::format("{} s", rest);
}

Json progress_json(const RunProgress& p) {
  const bool has_strategy = p.strategy_number > 0;
  const auto seconds = [](double value) { return std::round(value * 1e3) / 1e3; };
  return {{"phase", p.phase},
          {"strategy", p.strategy},
          {"label", p.label},
          {"strategy_number", has_strategy ? Json(p.strategy_number) : Json()},
          {"strategies", p.strategies},
          {"layer", p.layer},
          {"layers", p.layers},
          {"denoise_step", p.denoise_step},
          {"denoise_steps", p.denoise_steps},
          {"warmup", p.warmups_done},
          {"warmups", p.warmups},
          {"repeat", p.repeat},
          {"repeats", p.repeats},
          {"ranks_measured", p.ranks_measured},
          {"ranks_to_measure", p.ranks_to_measure},
          {"done", p.done},
          {"total", p.total},
          {"elapsed_s", seconds(p.elapsed_s)},
          {"eta_s", p.eta_s ? Json(seconds(*p.eta_s)) : Json()},
          {"shards", p.shards}};
}

Json end_json(const RunProgress& p, const std::string& hint, const std::string& out) {
  Json object = progress_json(p);
  object["eta_s"] = 0;
  object["exit_code"] = p.exit_code.value_or(0);
  object["failure"] = nullptr;
  if (p.exit_code.value_or(0) != 0)
    object["failure"] = {
        {"code", p.cause_id.empty() ? Json() : Json(p.cause_id)}, {"message", p.cause}, {"hint", hint}};
  object["out"] = out.empty() ? Json() : Json(out);
  return object;
}

}  // namespace spscope
