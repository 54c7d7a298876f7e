#include "backend/cli/calibrate_fit.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <ostream>

#include "backend/base/json.h"
#include "backend/fit/fit_profile.h"

namespace spscope {
namespace {

constexpr double kMisfit = 0.3;  // of a time that its own fit should predict better

Json to_json(const ProfileFit& fit, const std::string& output) {
  Json numbers = Json::array(), times = Json::array();
  for (const FittedNumber& number : fit.numbers)
    numbers.push_back({{"name", number.name}, {"before", number.before}, {"after", number.after}});
  for (const FittedTime& time : fit.times)
    times.push_back(
        {{"id", time.id}, {"measured_s", time.measured_s}, {"before_s", time.before_s}, {"after_s", time.after_s}});
  return {{"schema_version", 1},
          {"name", fit.preset.name},
          {"numbers", std::move(numbers)},
          {"times", std::move(times)},
          {"median_error_before", fit.median_error_before},
          {"median_error_after", fit.median_error_after},
          {"file", output}};
}

void print_text(std::ostream& out, const ProfileFit& fit) {
  out << fmt::format("{:<36} {:>12} {:>12}\n", "number", "before", "fitted");
  for (const FittedNumber& number : fit.numbers)
    out << fmt::format("{:<36} {:>12.4g} {:>12.4g}{}\n", number.name, number.before, number.after,
                       number.moved ? "" : "  as before: these times do not show it");
  out << fmt::format("\n{:<20} {:>10} {:>10} {:>7} {:>10} {:>7}\n", "time", "measured", "before", "error", "fitted",
                     "error");
  for (const FittedTime& time : fit.times)
    out << fmt::format("{:<20} {:>8.4g} s {:>8.4g} s {:>+5.0f} % {:>8.4g} s {:>+5.0f} %\n", time.id, time.measured_s,
                       time.before_s, 100 * (time.before_s / time.measured_s - 1), time.after_s,
                       100 * (time.after_s / time.measured_s - 1));
  out << fmt::format("\nmedian error {:.1f} % before, {:.1f} % fitted\n", 100 * fit.median_error_before,
                     100 * fit.median_error_after);
}

}  // namespace

int fit_to_times(CommandContext& context, const std::string& table, const std::string& cluster,
                 const std::string& output) {
  const Result<std::vector<TimingRow>> rows = read_timing_rows(table);
  if (!rows) throw rows.error();
  const ProfileFit fit = fit_profile(*rows, cluster, std::filesystem::path(table).parent_path().string());
  if (!output.empty()) write_profile(output, fit.preset);
  if (context.json) {
    context.out << fmt::format("{}\n", to_json(fit, output).dump(2));
    return kExitDone;
  }
  print_text(context.out, fit);
  for (const FittedTime& time : fit.times) {
    const double error = time.after_s / time.measured_s - 1;
    if (std::abs(error) <= kMisfit) continue;
    context.err << fmt::format(
        "warning: {} stays {:+.0f} % off: its columns, or the code that it is of, are unlike the others\n", time.id,
        100 * error);
  }
  say_where_profile_is(context, output);
  return kExitDone;
}

void say_where_profile_is(CommandContext& context, const std::string& output) {
  if (output.empty())
    context.err << fmt::format("\nnothing was written; -o FILE.toml keeps the profile\n");
  else
    context.out << fmt::format("\nwrote {}: --set cluster.profile={}\n", output, output);
}

}  // namespace spscope
