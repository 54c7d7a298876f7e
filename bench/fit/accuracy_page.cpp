#include "bench/fit/accuracy_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "backend/base/whole_file.h"
#include "backend/config/text_file.h"
#include "bench/fit/contradictions.h"

namespace spscope {
namespace {

// Of ratio_error.def: the row, the kind as `ratio_kind_of`, its name, and where its machines are.
struct RatioRow {
  const char *name, *kind, *key, *where;
};
constexpr RatioRow kRatioRows[] = {{"Nvlink", "NVLink", "nvlink", "NVLink"},
                                   {"Pcie", "PCIe, more", "pcie", "PCIe on more than 2 GPUs"},
                                   {"PciePair", "PCIe, 2 GPUs", "pcie", "PCIe on 2 GPUs"}};

// A file of another repository is no link of ours: "xdit-project/xDiT/docs/performance/flux.md".
std::string citation(std::string source) {
  const std::size_t folder = source.find(" docs/");
  if (folder != source.npos) source[folder] = '/';
  return source;
}

// What is written by hand or by other programs stays, from there on.
std::string kept_sections(const std::string& path) {
  const Result<std::string> old = read_text_file(path, 1 << 20);
  const std::size_t begin = old ? old->find("\n## Attention kernels and collectives\n") : std::string::npos;
  return begin == std::string::npos ? "" : old->substr(begin);
}

std::string groups_section(const std::map<std::pair<std::string, int>, GroupSummary>& groups) {
  std::string text =
      "| link | GPUs | runs | half of them are within | within 30 % | strategies in order | guidance in order |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  const auto order = [](const PairsInOrder& pairs) {
    return pairs.all > 0 ? fmt::format("{} of {}", pairs.in_order, pairs.all) : "";
  };
  for (const auto& [group, s] : groups) {
    const auto& [link, gpus] = group;
    text += fmt::format("| {} | {} | {} | {:.1f} % | {:.0f} % | {} | {} |\n", link,
                        gpus == 4   ? "3 or 4"
                        : gpus == 8 ? "5 to 8"
                                    : std::to_string(gpus),
                        s.rows, 100 * s.median, 100 * s.within_30, order(s.pairs), order(s.guidance_pairs));
  }
  return text;
}

std::string summary_section(const Summary& seen, const Summary& unseen) {
  std::string text =
      "| | runs | half of them are within | within 30 % | speed-up, 1 to 8 GPUs, NVLink | strategies in order | "
      "guidance in order | all pairs | beyond the error of ratios |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  const auto order = [](const PairsInOrder& pairs) {
    return fmt::format("{} of {} ({:.0f} %)", pairs.in_order, pairs.all,
                       100.0 * pairs.in_order / std::max(1, pairs.all));
  };
  const auto all = [](const Summary& s) {
    return PairsInOrder{s.pairs.in_order + s.guidance_pairs.in_order, s.pairs.all + s.guidance_pairs.all};
  };
  const auto line = [&](const char* name, const Summary& s) {
    text += fmt::format("| {} | {} | {:.1f} % | {:.0f} % | {:.1f} % | {} | {} | {} | {} |\n", name, s.rows,
                        100 * s.median, 100 * s.within_30, 100 * s.speedup, order(s.pairs), order(s.guidance_pairs),
                        order(all(s)), order(s.called));
  };
  line("source unseen", unseen);
  line("source seen", seen);
  const auto limit = [](bool met, const char* wanted) { return fmt::format("{}, {}", wanted, met ? "met" : "missed"); };
  text += fmt::format("| wanted, unseen | | {} | {} | {} | | | {} | |\n", limit(unseen.median <= 0.11, "at most 11 %"),
                      limit(unseen.within_30 >= 0.8, "80 %"), limit(unseen.speedup <= 0.14, "at most 14 %"),
                      limit(all(unseen).in_order >= 0.85 * all(unseen).all, "85 %"));
  text +=
      "\nThe ratio of two times on the same GPUs has an error of its own. `advise` compares strategies by the first of "
      "these,\nand guidance passes at once with passes in turn by the second. Verdicts name a winner beyond it, as in "
      "the last column above:\n\n"
      "| link | strategies | half of the ratios are within | guidance | half of the ratios are within |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const auto& [kind, ratio] : unseen.ratios) {
    const auto& [guidance, pairs] = unseen.guidance_ratios.at(kind);
    text += fmt::format("| {} | {} | {:.1f} % | {} | {:.1f} % |\n", kind, ratio.second, 100 * ratio.first, pairs,
                        100 * guidance);
  }
  return text;
}

// A row of the table of runs: one series.
struct SeriesRow {
  std::string series, left;            // what all of its runs share, and the cells that name it
  std::array<std::string, 4> by_gpus;  // of 1, 2, 3 or 4, and 5 to 8 GPUs
};

void add_run(std::vector<SeriesRow>& table, const RowModel& row, double fitted, double unseen) {
  const TimingRow& r = row.row();
  const std::string left = fmt::format("| {} | {} | {}x{} | {} |", r.gpu, r.model, r.width, r.height, r.implementation),
                    series = fmt::format("{} {} {} {} {}", left, r.frames, r.steps, r.software, r.kernel);
  auto place = std::ranges::find(table, series, &SeriesRow::series);
  if (place == table.end()) place = table.insert(place, SeriesRow{series, left, {}});
  std::string& cell = place->by_gpus[r.gpus <= 2 ? at(r.gpus - 1) : r.gpus <= 4 ? 2 : 3];
  cell += fmt::format("{}{} {}: {:.4g}; {:.4g}, {:+.0f} %; {:.4g}, {:+.0f} %", cell.empty() ? "" : "<br>", r.id,
                      strategy_text(row), r.seconds, fitted, 100 * (fitted / r.seconds - 1), unseen,
                      100 * (unseen / r.seconds - 1));
}

std::string rows_section(const Evaluation& e, const std::vector<double>& fitted, const std::vector<double>& unseen) {
  std::string text =
      "## Whole runs\n\nA row has the runs of one source, GPU, model, size and code. Of a run there are its id and "
      "strategy, the seconds that were\nmeasured; those predicted, with their error; those predicted unseen, with "
      "theirs. Seconds are of a step where the scope is `step`.\n\n"
      "| GPU | model | pixels | code | 1 GPU | 2 GPUs | 3 or 4 GPUs | 5 to 8 GPUs |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (std::size_t i = 0; i < e.rows.size();) {
    const std::string& source = e.rows[i].row().source;
    text += fmt::format("| | **{}** | | | | | | |\n", citation(source));
    std::vector<SeriesRow> table;
    for (; i < e.rows.size() && e.rows[i].row().source == source; ++i) add_run(table, e.rows[i], fitted[i], unseen[i]);
    for (const SeriesRow& row : table) text += fmt::format("{} {} |\n", row.left, fmt::join(row.by_gpus, " | "));
  }
  return text;
}

std::string left_out_section(const Evaluation& e) {
  std::string text = "## Rows left out\n\n| ids | source | model | reason |\n| --- | --- | --- | --- |\n", ids, same;
  for (const LeftOut& out : e.left_out) {
    const std::string rest = fmt::format("| {} | {} | {} |\n", citation(out.row.source), out.row.model, out.reason);
    if (rest != same && !ids.empty()) text += "| " + std::exchange(ids, "") + " " + same;
    ids += (ids.empty() ? "" : ", ") + out.row.id, same = rest;
  }
  return text + "| " + ids + " " + same;
}

}  // namespace

void write_accuracy(const std::string& root, const Evaluation& e, const std::vector<double>& fitted,
                    const std::vector<double>& unseen, std::span<const double> values) {
  const std::string page = root + "/docs/accuracy.md", rows = root + "/bench/measured/accuracy.md";
  const std::string summary =
      "# How far predictions can be trusted\n\n"
      "spscope predicts published times of whole runs. This page says how far off it is. Each run is predicted without "
      "its\nsource: the parameters are fitted again, from their priors, to the runs of all other sources. Expect such "
      "errors "
      "for\nruns of your own. [bench/measured/accuracy.md](../bench/measured/accuracy.md) has every run with its "
      "misses, and\n[bench/measured/README.md](../bench/measured/README.md) says how you get the config of a row. "
      "`fit_bench . --write`\n(bench/fit_bench.cpp) writes both pages.\n\n"
      "## Whole runs, by link and number of GPUs\n\n" +
      groups_section(summarize_groups(e, unseen)) +
      "\nA pair is of one source, model and shape on as many GPUs, and was measured over 8 % apart. Its runs differ in "
      "their strategy\nalone, or have another number of guidance passes at once. No run is on several nodes. Those "
      "with "
      "sparse attention on\nseveral GPUs are [below](#sparse-attention-on-several-gpus).\n\n## All runs\n\n" +
      summary_section(summarize(e, fitted), summarize(e, unseen)) + "\n## Where the order is wrong\n\n" +
      contradictions_text(e, unseen, values);
  write_whole_file(page, summary + kept_sections(page));
  const std::string list =
      "# Predictions of published runs\n\n"
      "The rows behind [docs/accuracy.md](../../docs/accuracy.md), written by `fit_bench . --write`. *Unseen* is "
      "predicted without\nany row of the same source; `fit_bench .` prints the pairs that it puts in the wrong "
      "order.\n\n" +
      rows_section(e, fitted, unseen) + "\n" + left_out_section(e);
  write_whole_file(rows, list);
}

void write_memory_section(const std::string& path, const std::string& section) {
  const Result<std::string> old = read_text_file(path, 1 << 20);
  if (!old) throw old.error();
  const std::string heading = "\n" + section.substr(0, section.find('\n') + 1);
  const std::size_t begin = old->find(heading), next = begin == old->npos ? begin : old->find("\n## ", begin + 1);
  write_whole_file(path, old->substr(0, begin) + "\n" + section + (next == old->npos ? "" : old->substr(next)));
}

void write_ratio_errors(const std::string& path, const Evaluation& e, const Summary& unseen) {
  std::ifstream in(path);
  std::string text;
  for (std::string line; std::getline(in, line);) {
    for (const RatioRow& row : kRatioRows) {
      if (!line.starts_with(fmt::format("RATIO_ERROR({},", row.name))) continue;
      const auto& [median, pairs] = unseen.ratios.at(row.kind);
      line = fmt::format(
          "RATIO_ERROR({}, \"{}\", {:.3f}, {}, {}, {:.3f}, \"the model's median error between strategies over {} "
          "(docs/accuracy.md)\")",
          row.name, row.key, median, pairs, sources_of_ratios(e, row.kind), unseen.guidance_ratios.at(row.kind).first,
          row.where);
    }
    if (line.starts_with("RATIO_ERROR(Nodes,"))
      line = fmt::format("RATIO_ERROR(Nodes, \"nodes\", {:.3f}, 0, 0, {:.3f},", unseen.ratios.at("PCIe, more").first,
                         unseen.guidance_ratios.at("PCIe, more").first);
    text += line + "\n";
  }
  in.close();
  write_whole_file(path, text);
}

}  // namespace spscope
