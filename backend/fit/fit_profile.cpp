#include "backend/fit/fit_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/base/median.h"
#include "backend/fit/least_squares.h"
#include "backend/fit/row_model.h"

namespace spscope {
namespace {

constexpr double kMoved = 0.001;  // a factor nearer to 1 leaves its numbers as they were
constexpr double kFarthest = 3;   // how far times may move a number; beyond it a row is wrong

// Numbers that one factor moves together, with the standard deviation of its logarithm.
struct FlatParameter {
  std::string_view name;
  std::vector<std::string_view> fields;
  double spread;
  bool of_several_gpus = false;
};

const std::vector<FlatParameter>& flat_parameters() {
  static const std::vector<FlatParameter> parameters = {
      {"attention", {"cost.attend_ns_per_pair_channel"}, 0.2},
      {"matrix products", {"cost.gemm_ns_per_flop"}, 0.2},
      {"passes of norms, gates and activations", {"cost.elementwise_passes"}, 0.4},
      {"passes of norms with a rotary embedding", {"cost.rotary_passes"}, 0.4},
      {"host, a launch", {"cost.host_ns_per_launch"}, 0.4},
      {"host, a collective", {"cost.host_ns_per_collective", "cost.host_ns_per_hop"}, 0.4, true},
      {"links",
       {"network.link_gbps", "network.socket_gbps", "network.all_to_all.gbps", "network.all_to_all.of_4_gbps",
        "network.all_to_all.of_8_gbps", "network.point_to_point.gbps", "network.all_gather.gbps",
        "network.reduce_scatter.gbps", "network.all_reduce.gbps"},
       0.3,
       true},
      {"outside of the layers", {"outside.per_run_ns"}, 0.6}};
  return parameters;
}

void apply(ClusterPreset& preset, const FlatParameter& parameter, double factor) {
  for (const ClusterFieldRow& field : cluster_fields())
    if (std::ranges::find(parameter.fields, field.name) != parameter.fields.end()) field.ref(preset) *= factor;
}

ClusterPreset with_factors(ClusterPreset preset, std::span<const double> factors) {
  for (std::size_t p = 0; p < factors.size(); ++p) apply(preset, flat_parameters()[p], factors[p]);
  return preset;
}

double number_of(ClusterPreset preset, std::string_view name) {
  const auto fields = cluster_fields();
  return std::ranges::find(fields, name, &ClusterFieldRow::name)->ref(preset);
}

double median_error(const std::vector<FittedTime>& times, double FittedTime::*predicted) {
  std::vector<double> errors;
  for (const FittedTime& time : times) errors.push_back(std::abs(time.*predicted / time.measured_s - 1));
  return median(std::move(errors));
}

void check_alike(const TimingRow& first, const TimingRow& row, std::vector<Problem>& problems) {
  const std::pair<std::string_view, std::string TimingRow::*> columns[] = {
      {"model", &TimingRow::model},
      {"gpu", &TimingRow::gpu},
      {"interconnect", &TimingRow::interconnect},
      {"kernel", &TimingRow::kernel},
      {"implementation", &TimingRow::implementation}};
  for (const auto& [name, member] : columns)
    if (first.*member != row.*member)
      problems.push_back(
          {ErrorCode::kConfigConflict, std::string(name),
           fmt::format("{} is \"{}\" here and \"{}\" in line {}", name, row.*member, first.*member, first.place.line),
           "one profile has one of them: fit them one after the other, or say in left_out why a row is "
           "not used",
           row.place});
}

std::vector<RowModel> models_of(const std::vector<TimingRow>& rows, const std::string& cluster,
                                const std::string& folder) {
  std::vector<RowModel> models;
  std::vector<Problem> problems;
  for (const TimingRow& row : rows) {
    if (!row.left_out.empty()) continue;
    if (!models.empty()) check_alike(models.front().row(), row, problems);
    Result<RowModel> model = capture([&] { return RowModel(row, folder, cluster); });
    if (model)
      models.push_back(std::move(*model));
    else
      problems.push_back({ErrorCode::kConfigConflict, row.id,
                          fmt::format("no run of this row: {}", model.error().what()), model.error().hint(),
                          row.place});
  }
  if (models.empty() && problems.empty())
    problems.push_back({ErrorCode::kConfigConflict, "", "the table has no row that is not left out", "", {}});
  if (!problems.empty()) throw Error(std::move(problems));
  return models;
}

// Refuses times that would move a number of the cluster too far.
void require_near(const std::vector<RowModel>& models, std::span<const double> factors,
                  const std::vector<FittedTime>& times) {
  const auto distance = [](double ratio) { return std::abs(std::log(ratio)); };
  const auto farthest = std::ranges::max_element(factors, {}, distance);
  if (distance(*farthest) <= std::log(kFarthest)) return;
  const auto row = std::ranges::max_element(
      times, {}, [&](const FittedTime& time) { return distance(time.before_s / time.measured_s); });
  throw Error(
      {{ErrorCode::kConfigConflict, row->id,
        fmt::format("{} took {:.3g} s, and {} predicts {:.3g} s: \"{}\" would have to change by a factor of {:.2g}",
                    row->id, row->measured_s, models.front().resolved().name, row->before_s,
                    flat_parameters()[static_cast<std::size_t>(farthest - factors.begin())].name, *farthest),
        "check model, resolution, frames, steps, gpus and unit of this row, or give the cluster that the times are "
        "of with --cluster",
        models[static_cast<std::size_t>(row - times.begin())].row().place}});
}

}  // namespace

ProfileFit fit_profile(const std::vector<TimingRow>& rows, const std::string& cluster, const std::string& folder) {
  const std::vector<RowModel> models = models_of(rows, cluster, folder);
  FitProblem problem;
  for (const FlatParameter& parameter : flat_parameters())
    problem.parameters.push_back({std::string(parameter.name), 1, parameter.spread});
  for (const RowModel& model : models) problem.measured.push_back(model.row().seconds);
  problem.predict = [&](std::size_t row, std::span<const double> factors) {
    return models[row].seconds(with_factors(models[row].resolved(), factors));
  };
  problem.affects = [&](std::size_t row, std::size_t parameter) {
    const FlatParameter& p = flat_parameters()[parameter];
    return (!p.of_several_gpus || models[row].row().gpus > 1) &&
           number_of(models[row].resolved(), p.fields.front()) > 0;
  };
  problem.scatter = 0.03;  // one machine and one code base
  const Fit fitted = fit(problem, std::vector<double>(models.size(), 1));

  ProfileFit result;
  result.preset = with_factors(models.front().resolved(), fitted.values);
  result.preset.name += "-fitted";
  result.preset.note =
      fmt::format("Fitted to {} times of {}. {}", models.size(), models.front().row().model, result.preset.note);
  for (std::size_t p = 0; p < fitted.values.size(); ++p)
    for (const std::string_view name : flat_parameters()[p].fields) {
      const double before = number_of(models.front().resolved(), name);
      if (before == 0) continue;
      result.numbers.push_back({std::string(name), std::string(flat_parameters()[p].name), before,
                                before * fitted.values[p], std::abs(fitted.values[p] - 1) >= kMoved});
      if (std::abs(fitted.values[p] - 1) < kMoved) continue;
      std::string& source = result.preset.sources[std::string(name)];
      source = fmt::format("calibrate --fit, {:.3g} x: {}", fitted.values[p], source);
      result.preset.origins[std::string(name)] = NumberOrigin::kFitted;
      result.preset.ranges.erase(std::string(name));  // it is that of one host now
    }
  const std::vector<double> ones(fitted.values.size(), 1);
  for (std::size_t i = 0; i < models.size(); ++i)
    result.times.push_back(
        {models[i].row().id, models[i].row().seconds, problem.predict(i, ones), problem.predict(i, fitted.values)});
  require_near(models, fitted.values, result.times);
  result.median_error_before = median_error(result.times, &FittedTime::before_s);
  result.median_error_after = median_error(result.times, &FittedTime::after_s);
  return result;
}

}  // namespace spscope
