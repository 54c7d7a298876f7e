#include "bench/fit/accuracy_page.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "backend/base/whole_file.h"
#include "backend/config/text_file.h"
#include "bench/fit/contradictions.h"

namespace spscope {
namespace {

// A file of another repository is no link of ours: "xdit-project/xDiT/docs/performance/flux.md".
std::string citation(std::string source) {
  const std::size_t folder = source.find(" docs/");
  if (folder != source.npos) source[folder] = '/';
  return source;
}

// What other programs of bench/fit wrote into the page stays, from this heading on.
std::string kept_sections(const std::string& path) {
  constexpr std::string_view kHeading = "\n## Attention and collectives\n";
  const Result<std::string> old = read_text_file(path, 1 << 20);
  if (!old) return "";
  const std::size_t begin = old->find(kHeading);
  return begin == old->npos ? "" : old->substr(begin);
}

std::string summary_section(const Summary& seen, const Summary& unseen) {
  std::string text =
      "## Summary\n\n"
      "| | rows | median error | within 30 % | speed-up, 1 to 8 GPUs, NVLink | pairs of strategies in order |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  const auto line = [&](const char* name, const Summary& s) {
    text += fmt::format("| {} | {} | {:.1f} % | {:.0f} % | {:.1f} % | {} of {} ({:.0f} %) |\n", name, s.rows,
                        100 * s.median, 100 * s.within_30, 100 * s.speedup, s.pairs_in_order, s.pairs,
                        100.0 * s.pairs_in_order / s.pairs);
  };
  line("source unseen", unseen);
  line("source seen", seen);
  const auto limit = [](bool met, const char* wanted) { return fmt::format("{}, {}", wanted, met ? "met" : "missed"); };
  text += fmt::format("| wanted, unseen | | {} | {} | {} | {} |\n", limit(unseen.median <= 0.11, "at most 11 %"),
                      limit(unseen.within_30 >= 0.8, "80 %"), limit(unseen.speedup <= 0.14, "at most 14 %"),
                      limit(unseen.pairs_in_order >= 0.85 * unseen.pairs, "85 %"));
  text +=
      "\n| kind of machine | rows | median error, unseen | error of ratios between strategies | pairs |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const auto& [kind, error] : unseen.by_machine) {
    const auto ratio = unseen.ratios.find(kind);
    const bool has = ratio != unseen.ratios.end();
    text += fmt::format("| {} | {} | {:.1f} % | {} | {} |\n", kind, error.second, 100 * error.first,
                        has ? fmt::format("{:.1f} %", 100 * ratio->second.first) : "",
                        has ? std::to_string(ratio->second.second) : "");
  }
  return text;
}

std::string rows_section(const Evaluation& e, const std::vector<double>& fitted, const std::vector<double>& unseen) {
  std::string text =
      "## Rows\n\nSeconds; of a step where the scope is `step`.\n\n"
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
  return text;
}

std::string left_out_section(const Evaluation& e) {
  std::string text = "## Rows left out\n\n| id | source | model | reason |\n| --- | --- | --- | --- |\n";
  for (const LeftOut& out : e.left_out)
    text += fmt::format("| {} | {} | {} | {} |\n", out.row.id, citation(out.row.source), out.row.model, out.reason);
  return text;
}

}  // namespace

void write_accuracy(const std::string& path, const Evaluation& e, const std::vector<double>& fitted,
                    const std::vector<double>& unseen, std::span<const double> values) {
  const std::string text =
      "# How far predictions can be trusted\n\n"
      "Published times of whole runs, and what spscope predicts for them. bench/fit_bench.cpp writes this page: "
      "`fit_bench . --write`.\n"
      "[bench/measured/README.md](../bench/measured/README.md) says how you get the config of a row; `spscope run "
      "CONFIG` predicts it.\n"
      "*Unseen*: for each source the parameters are fitted again, from their priors and without any row of the source, "
      "and\npredict its rows: what a run of your own can expect. Misses are not left out.\n\n" +
      summary_section(summarize(e, fitted), summarize(e, unseen)) + "\n" + rows_section(e, fitted, unseen) +
      "\n## Pairs in the wrong order\n\nStrategies of one source, model and shape on as many GPUs, over 8 % apart; "
      "predicted with the source unseen.\n\n| GPUs | one | other | measured, one over other | predicted |\n"
      "| --- | --- | --- | --- | --- |\n" +
      misordered_text(e, unseen) + "\n" + contradictions_text(e, unseen, values) + "\n" + left_out_section(e);
  write_whole_file(path, text + kept_sections(path));
}

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
  write_whole_file(path, text);
}

}  // namespace spscope
