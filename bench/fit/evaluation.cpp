#include "bench/fit/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

constexpr double kOffsetSpread = 0.06, kHostSpread = 0.7;  // of what one source, and one PCIe host, adds
constexpr double kRowsOfFullWeight = 12;                   // more rows of a source count as the root of their number

std::string group_of(const RowModel& row) {
  return fmt::format("{}|{}|{}", row.row().source, row.layered().gpu, row.row().model);
}

void load(Evaluation& e, const std::string& folder) {
  const Result<std::vector<TimingRow>> rows = read_timing_rows(folder + "/end_to_end.csv");
  if (!rows) throw rows.error();
  const TemporaryFolder clusters;
  for (const TimingRow& row : *rows) {
    if (!row.left_out.empty()) {
      e.left_out.push_back({row, row.left_out});
      continue;
    }
    Result<RowModel> model = capture([&] {
      write_cluster_of(row, clusters.path());
      return RowModel(row, clusters.path());
    });
    if (model)
      e.rows.push_back(std::move(*model));
    else
      e.left_out.push_back({row, model.error().what()});
  }
}

// A factor of the rates of one PCIe host with more than two GPUs.
LayerParameter of_host(const std::string& host, const std::vector<std::string_view>& fields) {
  return {{fmt::format("{} {}", host, fields.front()), 1, kHostSpread},
          [host](const RowModel& row) { return row.row().gpus > 2 && !row.row().nvlink() && host_of(row) == host; },
          [fields](RowProfile& profile, double value) {
            for (const ClusterFieldRow& known : cluster_fields())
              if (std::ranges::find(fields, known.name) != fields.end()) known.ref(profile.cluster) *= value;
          }};
}

// What belongs to one host or one source is there only while fitting, and never when a time is predicted.
void add_nuisances(Evaluation& e) {
  e.num_layer_parameters = e.parameters.size();
  std::vector<std::string> hosts;
  for (const RowModel& row : e.rows) {
    if (std::ranges::find(e.offsets, group_of(row)) == e.offsets.end()) e.offsets.push_back(group_of(row));
    const bool spread = !row.row().nvlink() && row.row().gpus > 2;
    if (spread && std::ranges::find(hosts, host_of(row)) == hosts.end()) hosts.push_back(host_of(row));
  }
  for (const std::string& host : hosts) {
    e.parameters.push_back(of_host(host, {"network.point_to_point.gbps"}));
    e.parameters.push_back(of_host(host, {"network.all_to_all.of_4_gbps", "network.all_to_all.of_8_gbps"}));
  }
}

void make_problem(Evaluation& e) {
  e.parameters = layer_parameters();
  add_nuisances(e);
  for (const LayerParameter& parameter : e.parameters) e.problem.parameters.push_back(parameter.fitted);
  for (const std::string& offset : e.offsets) e.problem.parameters.push_back({offset, 1, kOffsetSpread, true});
  std::map<std::string, double> count;
  for (const RowModel& row : e.rows) ++count[row.row().source];
  for (const RowModel& row : e.rows) {
    e.problem.measured.push_back(row.row().seconds);
    e.weights.push_back(std::min(1.0, std::sqrt(kRowsOfFullWeight / count[row.row().source])));
  }
  e.problem.predict = [&e](std::size_t row, std::span<const double> values) {
    return e.rows[row].seconds(with_values(e.rows[row], e.parameters, values));
  };
  e.problem.affects = [&e](std::size_t row, std::size_t parameter) {
    if (parameter < e.parameters.size()) return e.parameters[parameter].affects(e.rows[row]);
    return e.offsets[parameter - e.parameters.size()] == group_of(e.rows[row]);
  };
}

}  // namespace

Evaluation::Evaluation(const std::string& folder) {
  load(*this, folder);
  make_problem(*this);
}

std::string host_of(const RowModel& row) { return fmt::format("{}|{}", row.row().source, row.layered().gpu); }

double predicted(const Evaluation& e, std::size_t row, std::vector<double> values) {
  for (std::size_t p = e.num_layer_parameters; p < values.size(); ++p) values[p] = 1;
  return e.problem.predict(row, values);
}

Unseen predict_unseen(const Evaluation& e) {
  Unseen unseen{std::vector<double>(e.rows.size()), 0, 0};
  std::map<std::string, std::vector<std::size_t>> sources;
  for (std::size_t i = 0; i < e.rows.size(); ++i) sources[e.rows[i].row().source].push_back(i);
  for (const auto& [source, rows] : sources) {
    std::vector<double> weights = e.weights;
    for (const std::size_t row : rows) weights[row] = 0;
    const Fit others = fit(e.problem, weights, kMaxRounds);
    for (const std::size_t row : rows) unseen.seconds[row] = predicted(e, row, others.values);
    ++unseen.fits;
    unseen.last_move = std::max(unseen.last_move, others.last_move);
  }
  return unseen;
}

}  // namespace spscope
