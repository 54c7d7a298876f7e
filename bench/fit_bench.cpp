// Fits the profile layers to the published times in bench/measured and says how far predictions can be trusted: each
// source is predicted once by parameters that have not seen it. Every prediction is that of `spscope run` on a config
// kept beside the row.
//
//   fit_bench ROOT [--write]   ROOT: the repository; --write: docs/accuracy.md, the configs of the rows and the
//   profiles
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "backend/base/median.h"
#include "backend/base/number_text.h"
#include "backend/config/text_file.h"
#include "backend/fit/layer_parameters.h"

namespace spscope {
namespace {

constexpr double kOffsetSpread = 0.06, kHostSpread = 0.7;  // of what one source, and one PCIe host, adds
constexpr double kApart = 1.08;                            // a ratio of measured times from which on their order counts
constexpr double kRowsOfFullWeight = 12;                   // more rows of a source count as the root of their number

struct LeftOut {
  TimingRow row;
  std::string reason;
};

struct Evaluation {
  std::vector<RowModel> rows;
  std::vector<LeftOut> left_out;
  std::vector<LayerParameter> parameters;  // those of the layers, then those of hosts
  std::size_t num_layer_parameters = 0;
  std::vector<std::string> offsets;  // "source|gpu|model", each a factor
  FitProblem problem;
  std::vector<double> weights;
};

std::string group_of(const RowModel& row) {
  return fmt::format("{}|{}|{}", row.row().source, row.layered().gpu, row.row().model);
}
std::string host_of(const RowModel& row) { return fmt::format("{}|{}", row.row().source, row.layered().gpu); }

Evaluation load(const std::string& folder) {
  Evaluation e;
  const Result<std::vector<TimingRow>> rows = read_timing_rows(folder + "/end_to_end.csv");
  if (!rows) throw rows.error();
  for (const TimingRow& row : *rows) {
    if (!row.left_out.empty()) {
      e.left_out.push_back({row, row.left_out});
      continue;
    }
    Result<RowModel> model = capture([&] { return RowModel(row, folder); });
    if (model)
      e.rows.push_back(std::move(*model));
    else
      e.left_out.push_back({row, model.error().what()});
  }
  return e;
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
  for (const std::string& host : hosts)
    for (const std::vector<std::string_view>& fields :
         {std::vector<std::string_view>{"network.point_to_point.gbps"},
          std::vector<std::string_view>{"network.all_to_all.of_4_gbps", "network.all_to_all.of_8_gbps"}})
      e.parameters.push_back(
          {{fmt::format("{} {}", host, fields.front()), 1, kHostSpread},
           [host](const RowModel& row) { return row.row().gpus > 2 && !row.row().nvlink() && host_of(row) == host; },
           [fields](RowProfile& profile, double value) {
             for (const ClusterFieldRow& known : cluster_fields())
               if (std::ranges::find(fields, known.name) != fields.end()) known.ref(profile.cluster) *= value;
           }});
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

// As a user's run is predicted: nothing of one host or source.
double predicted(const Evaluation& e, std::size_t row, std::vector<double> values) {
  for (std::size_t p = e.num_layer_parameters; p < values.size(); ++p) values[p] = 1;
  return e.problem.predict(row, values);
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

struct Summary {
  int rows = 0, pairs = 0, pairs_in_order = 0, speedups = 0;
  double median = 0, within_30 = 0, speedup = 0;
  std::map<std::string, std::pair<double, int>> by_machine;  // median error, rows
  std::map<std::string, std::pair<double, int>> ratios;      // median error of ratios between strategies, pairs
};

std::string kind_of(const TimingRow& row) { return row.gpus == 1 ? "one GPU" : row.nvlink() ? "NVLink" : "PCIe"; }

// Rows of one source, model, shape and code on one GPU model: those whose times are ratios of strategies.
std::string series_of(const TimingRow& row) {
  return fmt::format("{}|{}|{}|{}|{}x{}|{}|{}|{}", row.source, row.gpu, row.interconnect, row.model, row.width,
                     row.height, row.frames, row.software, row.implementation);
}

int sources_of_ratios(const Evaluation& e, const std::string& kind) {
  std::set<std::string> sources;
  for (const RowModel& a : e.rows)
    for (const RowModel& b : e.rows)
      if (&a != &b && kind_of(a.row()) == kind && a.row().gpus == b.row().gpus &&
          series_of(a.row()) == series_of(b.row()))
        sources.insert(a.row().source);
  return static_cast<int>(sources.size());
}

Summary summarize(const Evaluation& e, const std::vector<double>& seconds) {
  Summary s;
  std::vector<double> errors, speedups;
  std::map<std::string, std::vector<double>> by_machine, ratios;
  for (std::size_t i = 0; i < e.rows.size(); ++i) {
    const TimingRow& a = e.rows[i].row();
    errors.push_back(std::abs(seconds[i] / a.seconds - 1));
    by_machine[kind_of(a)].push_back(errors.back());
    for (std::size_t j = 0; j < e.rows.size(); ++j) {
      const TimingRow& b = e.rows[j].row();
      if (i == j || series_of(a) != series_of(b)) continue;
      const double measured = a.seconds / b.seconds, ratio = seconds[i] / seconds[j];
      if (a.gpus == 1 && b.gpus == 8 && b.nvlink()) speedups.push_back(std::abs(ratio / measured - 1));
      if (j < i || a.gpus != b.gpus) continue;
      ratios[kind_of(a)].push_back(std::exp(std::abs(std::log(ratio / measured))) - 1);
      if (std::max(measured, 1 / measured) <= kApart) continue;
      ++s.pairs;
      s.pairs_in_order += (measured > 1) == (ratio > 1);
    }
  }
  s.rows = static_cast<int>(errors.size());
  s.within_30 = static_cast<double>(std::ranges::count_if(errors, [](double x) { return x <= 0.3; })) / s.rows;
  s.median = median_of(errors);
  s.speedups = static_cast<int>(speedups.size());
  s.speedup = median_of(speedups);
  for (const auto& [kind, list] : by_machine) s.by_machine[kind] = {median_of(list), static_cast<int>(list.size())};
  for (const auto& [kind, list] : ratios) s.ratios[kind] = {median_of(list), static_cast<int>(list.size())};
  return s;
}

std::string strategy_text(const RowModel& row) {
  const TimingRow& r = row.row();
  std::string text = r.gpus == 1 ? "single" : "";
  if (r.ulysses > 1) text += fmt::format("u{} ", r.ulysses);
  if (r.ring > 1) text += fmt::format("{}{} ", r.other_parallel == "all-gather KV" ? "gather" : "r", r.ring);
  if (r.cfg_parallel > 1) text += fmt::format("cfg{} ", r.cfg_parallel);
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

// Pairs of one series and number of GPUs whose times differ by over 8 % and are predicted in the other order.
std::string misordered_text(const Evaluation& e, const std::vector<double>& seconds) {
  std::string text;
  for (std::size_t i = 0; i < e.rows.size(); ++i)
    for (std::size_t j = i + 1; j < e.rows.size(); ++j) {
      const TimingRow &a = e.rows[i].row(), &b = e.rows[j].row();
      const double measured = a.seconds / b.seconds, ratio = seconds[i] / seconds[j];
      if (series_of(a) != series_of(b) || a.gpus != b.gpus || std::max(measured, 1 / measured) <= kApart) continue;
      if ((measured > 1) != (ratio > 1))
        text += fmt::format("| {} {} | {} {} | {} {} | {:.2f} | {:.2f} |\n", a.gpus, a.gpu, a.id,
                            strategy_text(e.rows[i]), b.id, strategy_text(e.rows[j]), measured, ratio);
    }
  return text;
}

std::string summary_text(const Summary& s) {
  std::string text = fmt::format(
      "{} rows: median error {:.1f} %, {:.0f} % within 30 %; speed-up from 1 to 8 GPUs over NVLink {:.1f} % ({} "
      "series); {} of {} pairs in order ({:.0f} %)\n",
      s.rows, 100 * s.median, 100 * s.within_30, 100 * s.speedup, s.speedups, s.pairs_in_order, s.pairs,
      100.0 * s.pairs_in_order / std::max(1, s.pairs));
  for (const auto& [kind, error] : s.by_machine)
    text += fmt::format("  {}: {:.1f} % ({} rows)\n", kind, 100 * error.first, error.second);
  for (const auto& [kind, error] : s.ratios)
    text += fmt::format("  ratios, {}: {:.1f} % ({} pairs)\n", kind, 100 * error.first, error.second);
  return text;
}

// A file of another repository is no link of ours: "xdit-project/xDiT/docs/performance/flux.md".
std::string citation(std::string source) {
  const std::size_t folder = source.find(" docs/");
  if (folder != source.npos) source[folder] = '/';
  return source;
}

void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

// What other programs of bench/fit wrote into the page stays, from this heading on.
std::string kept_sections(const std::string& path) {
  constexpr std::string_view kHeading = "\n## Attention and collectives\n";
  const Result<std::string> old = read_text_file(path, 1 << 20);
  if (!old) return "";
  const std::size_t begin = old->find(kHeading);
  return begin == old->npos ? "" : old->substr(begin);
}

void write_accuracy(const std::string& path, const Evaluation& e, const std::vector<double>& fitted,
                    const std::vector<double>& unseen) {
  const Summary seen_summary = summarize(e, fitted), unseen_summary = summarize(e, unseen);
  std::string text =
      "# How far predictions can be trusted\n\n"
      "Published times of whole runs, and what spscope predicts for them. bench/fit_bench.cpp writes this page: "
      "`fit_bench . --write`.\nEach row's config is in bench/measured/configs; `spscope run CONFIG` predicts it. "
      "*Unseen* is the prediction of parameters\nfitted without any row of the row's source: what a run of your own "
      "can expect. Misses are not left out.\n\n## Summary\n\n"
      "| | rows | median error | within 30 % | speed-up, 1 to 8 GPUs, NVLink | pairs of strategies in order |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  const auto line = [&](const char* name, const Summary& s) {
    text += fmt::format("| {} | {} | {:.1f} % | {:.0f} % | {:.1f} % | {} of {} |\n", name, s.rows, 100 * s.median,
                        100 * s.within_30, 100 * s.speedup, s.pairs_in_order, s.pairs);
  };
  line("source unseen", unseen_summary);
  line("source seen", seen_summary);
  text +=
      "\n| kind of machine | rows | median error, unseen | error of ratios between strategies | pairs |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const auto& [kind, error] : unseen_summary.by_machine) {
    const auto ratio = unseen_summary.ratios.find(kind);
    const bool has = ratio != unseen_summary.ratios.end();
    text += fmt::format("| {} | {} | {:.1f} % | {} | {} |\n", kind, error.second, 100 * error.first,
                        has ? fmt::format("{:.1f} %", 100 * ratio->second.first) : "",
                        has ? std::to_string(ratio->second.second) : "");
  }
  text +=
      "\n## Rows\n\nSeconds; of a step where the scope is `step`.\n\n"
      "| id | GPU | model | pixels | strategy | code | measured | predicted | error | unseen | error |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  std::string source;
  for (std::size_t i = 0; i < e.rows.size(); ++i) {
    const TimingRow& r = e.rows[i].row();
    if (r.source != source) text += fmt::format("| | | **{}** | | | | | | | | |\n", citation(source = r.source));
    text +=
        fmt::format("| {} | {} {} | {} | {}x{} | {} | {} | {:.4g} | {:.4g} | {:+.0f} % | {:.4g} | {:+.0f} % |\n", r.id,
                    r.gpus, r.gpu, r.model, r.width, r.height, strategy_text(e.rows[i]), r.implementation, r.seconds,
                    fitted[i], 100 * (fitted[i] / r.seconds - 1), unseen[i], 100 * (unseen[i] / r.seconds - 1));
  }
  text +=
      "\n## Pairs in the wrong order\n\nStrategies of one source, model and shape on as many GPUs, over 8 % apart; "
      "predicted with the source unseen.\n\n| GPUs | one | other | measured, one over other | predicted |\n"
      "| --- | --- | --- | --- | --- |\n" +
      misordered_text(e, unseen);
  text += "\n## Rows left out\n\n| id | source | model | reason |\n| --- | --- | --- | --- |\n";
  for (const LeftOut& out : e.left_out)
    text += fmt::format("| {} | {} | {} | {} |\n", out.row.id, citation(out.row.source), out.row.model, out.reason);
  write_file(path, text + kept_sections(path));
}

void write_configs(const std::string& folder, const Evaluation& e) {
  for (const RowModel& row : e.rows) {
    ConfigKeys keys = row_config(row.row());
    for (auto& [key, value] : keys)
      if (key == "cluster.profile") value = "../" + value;
    write_file(fmt::format("{}/configs/{}.toml", folder, row.row().id),
               config_text(keys, fmt::format("{}: {} on {} x {}", row.row().id, row.row().model, row.row().gpus,
                                             row.row().gpu)));
  }
}

constexpr const char* kFrom = "fitted to published times of whole runs (docs/accuracy.md)";

double rounded(double value) { return std::stod(fmt::format("{:.3g}", value)); }

// Numbers of `profile` that differ from those built in are fitted ones.
template <typename Profile>
void mark_fitted(Profile& profile, Profile built_in) {
  auto numbers = numbers_of(profile), before = numbers_of(built_in);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    SourcedNumber& number = *numbers[i].second;
    if (number.value == before[i].second->value) continue;
    number.value = rounded(number.value);
    number.from = NumberOrigin::kFitted;
    number.source = kFrom;
  }
}

// Every parameter that affects a row of this GPU; those of code change nothing here.
GpuProfile fitted_gpu(const Evaluation& e, std::span<const double> values, const std::string& name) {
  RowProfile profile{*find_gpu(name), *find_implementation("eager"), {}};
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p)
    if (std::ranges::any_of(
            e.rows, [&](const RowModel& row) { return row.layered().gpu == name && e.parameters[p].affects(row); }))
      e.parameters[p].apply(profile, values[p]);
  mark_fitted(profile.gpu, *find_gpu(name));
  return profile.gpu;
}

// Every parameter that affects a row of this code, and the times outside of the layers, which are one for all code.
ImplementationProfile fitted_code(const Evaluation& e, std::span<const double> values, const std::string& name) {
  ImplementationProfile code = *find_implementation(name);
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p) {
    const auto row = std::ranges::find_if(e.rows, [&](const RowModel& known) {
      return (known.choices().implementation == name || e.parameters[p].fitted.name.starts_with("outside.")) &&
             e.parameters[p].affects(known);
    });
    if (row == e.rows.end()) continue;
    RowProfile profile{*find_gpu(row->layered().gpu), code, {}};
    e.parameters[p].apply(profile, values[p]);
    code = profile.implementation;
  }
  mark_fitted(code, *find_implementation(name));
  return code;
}

// The network of a cluster of GPUs: what is fitted of NVLink and PCIe alike, and over PCIe the rest, of which rings of
// other collectives take that of a hop. Ranges keep their distance.
ClusterPreset fitted_cluster(const Evaluation& e, std::span<const double> values, ClusterPreset cluster) {
  const bool pcie = cluster.network.all_to_all.of_8_gbps > 0;
  const auto set = [&](const std::string& name, double value) {
    for (const ClusterFieldRow& field : cluster_fields()) {
      if (field.name != name) continue;
      double& number = field.ref(cluster);
      if (const auto range = cluster.ranges.find(name); range != cluster.ranges.end())
        range->second = {rounded(range->second.low * value / number), rounded(range->second.high * value / number)};
      number = value;
    }
    cluster.sources[name] = kFrom;
    cluster.origins[name] = NumberOrigin::kFitted;
  };
  constexpr std::string_view kHop = "network.point_to_point.";
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p) {
    const std::string& name = e.parameters[p].fitted.name;
    if (name == kHopShare && !pcie && cluster.network.point_to_point.gbps > 0)
      set("network.point_to_point.gbps", rounded(values[p] * cluster.network.link_gbps));
    if (!name.starts_with("network.") || (!pcie && name != "network.compute_slowdown")) continue;
    set(name, rounded(values[p]));
    if (!name.starts_with(kHop)) continue;
    for (const char* ring : {"network.all_gather.", "network.reduce_scatter."}) {
      const std::string same = ring + name.substr(kHop.size());
      set(same, rounded(values[p]));
      cluster.sources[same] = "assumption: rings of hops point to point";
      cluster.origins[same] = NumberOrigin::kAssumed;
    }
  }
  return cluster;
}

// As the program predicts with the files that are written: each number to three digits.
struct FittedProfiles {
  std::map<std::string, GpuProfile> gpus;
  std::map<std::string, ImplementationProfile> codes;
  std::map<std::string, ClusterPreset> clusters;  // layered
};

FittedProfiles fitted_profiles(const Evaluation& e, std::span<const double> values) {
  FittedProfiles fitted;
  for (const GpuProfile& gpu : gpu_profiles()) fitted.gpus.emplace(gpu.name, fitted_gpu(e, values, gpu.name));
  for (const ImplementationProfile& code : implementation_profiles())
    fitted.codes.emplace(code.name, fitted_code(e, values, code.name));
  for (const RowModel& row : e.rows)
    fitted.clusters.emplace(row.layered().name, fitted_cluster(e, values, row.layered()));
  return fitted;
}

double seconds_with(const RowModel& row, const FittedProfiles& fitted) {
  ClusterPreset cluster = fitted.clusters.at(row.layered().name);
  const std::string& code = row.choices().implementation;
  resolve_profiles(cluster, fitted.gpus.at(cluster.gpu),
                   fitted.codes.at(code.empty() ? std::string(kDefaultImplementation) : code), row.choices());
  return row.seconds(cluster);
}

void write_clusters(const std::string& folder, const Evaluation& e, std::span<const double> values) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const Result<ClusterPreset> cluster = read_profile(file.path().string());
    if (!cluster) throw cluster.error();
    if (!cluster->layered) continue;
    ClusterPreset fitted = fitted_cluster(e, values, *cluster);
    // What the file leaves to the GPU's profile, it still does.
    const std::string text = *read_text_file(file.path().string(), 1 << 20);
    if (text.find("\nattention_kernel") == text.npos) fitted.attention_kernel.clear();
    if (text.find("\nimplementation") == text.npos) fitted.implementation.clear();
    write_profile(file.path().string(), fitted);
  }
}

// The lines of machines that published times are of; the others stay.
void write_ratio_errors(const std::string& path, const Evaluation& e, const Summary& unseen) {
  std::ifstream in(path);
  std::string text;
  for (std::string line; std::getline(in, line);) {
    for (const char* kind : {"NVLink", "PCIe"}) {
      const std::string name = kind[0] == 'N' ? "Nvlink" : "Pcie", key = kind[0] == 'N' ? "nvlink" : "pcie";
      if (!line.starts_with(fmt::format("RATIO_ERROR({},", name))) continue;
      const auto& [median, pairs] = unseen.ratios.at(kind);
      line = fmt::format(
          "RATIO_ERROR({}, \"{}\", {:.3f}, {}, {}, \"published times of sources that the fit has not seen, "
          "docs/accuracy.md\")",
          name, key, median, pairs, sources_of_ratios(e, kind));
    }
    if (line.starts_with("RATIO_ERROR(Nodes,"))
      line = fmt::format("RATIO_ERROR(Nodes, \"nodes\", {:.3f}, 0, 0,", unseen.ratios.at("PCIe").first);
    text += line + "\n";
  }
  in.close();
  write_file(path, text);
}

int run(const std::string& root, bool write) {
  const std::string measured = root + "/bench/measured";
  Evaluation e = load(measured);
  std::cout << fmt::format("{} rows, {} left out\n", e.rows.size(), e.left_out.size()) << std::flush;
  make_problem(e);
  std::vector<double> built_in;
  for (const RowModel& row : e.rows) built_in.push_back(row.seconds(row.resolved()));
  std::cout << "built-in profiles: " << summary_text(summarize(e, built_in)) << std::flush;
  const Fit all = fit(e.problem, e.weights, 4);
  std::vector<double> fitted, unseen(e.rows.size());
  const FittedProfiles profiles = fitted_profiles(e, all.values);
  for (const RowModel& row : e.rows) fitted.push_back(seconds_with(row, profiles));
  std::cout << "fitted to all: " << summary_text(summarize(e, fitted)) << std::flush;
  std::map<std::string, std::vector<std::size_t>> sources;
  for (std::size_t i = 0; i < e.rows.size(); ++i) sources[e.rows[i].row().source].push_back(i);
  for (const auto& [source, rows] : sources) {
    std::vector<double> weights = e.weights;
    for (const std::size_t row : rows) weights[row] = 0;
    const std::vector<double> values = solve(e.problem, all.linear, weights);
    for (const std::size_t row : rows) unseen[row] = predicted(e, row, values);
  }
  std::cout << "each source unseen: " << summary_text(summarize(e, unseen)) << '\n';
  for (std::size_t p = 0; p < e.parameters.size(); ++p)
    std::cout << fmt::format("{:<40} {:.4g}  (prior {:.4g})\n", e.parameters[p].fitted.name, all.values[p],
                             e.parameters[p].fitted.prior);
  std::cout << misordered_text(e, unseen);
  for (const LeftOut& out : e.left_out) std::cout << out.row.id << ' ' << out.reason << '\n';
  if (!write) return 0;
  write_accuracy(root + "/docs/accuracy.md", e, fitted, unseen);
  write_configs(measured, e);
  write_ratio_errors(root + "/backend/analysis/ratio_error.def", e, summarize(e, unseen));
  for (const auto& [name, gpu] : profiles.gpus)
    write_file(fmt::format("{}/backend/config/gpus/{}.toml", root, name), gpu_toml(gpu));
  for (const auto& [name, code] : profiles.codes)
    write_file(fmt::format("{}/backend/config/implementations/{}.toml", root, name), implementation_toml(code));
  write_clusters(root + "/backend/config/clusters", e, all.values);
  write_clusters(measured + "/clusters", e, all.values);
  return 0;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: fit_bench ROOT [--write]\n";
    return 2;
  }
  const spscope::Result<int> done =
      spscope::capture([&] { return spscope::run(argv[1], argc > 2 && std::string_view(argv[2]) == "--write"); });
  if (!done) std::cerr << spscope::render(done.error());
  return done ? *done : 1;
}
