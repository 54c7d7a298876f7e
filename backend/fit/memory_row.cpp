#include "backend/fit/memory_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/fit/row_plans.h"
#include "backend/fit/table_row.h"

namespace spscope {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr double kWanted = 0.8;  // of peaks between what is counted and what is not
// Any cluster of 8 GPUs with profile layers: the limit of a row is its own, and nothing else of it counts.
constexpr const char* kCluster = "h100x8";

MemoryRow memory_row(const CsvTable& table, std::size_t number, std::vector<Problem>& problems) {
  constexpr std::array<std::string_view, 3> kUnits = {"GB", "GiB", "MB"};  // a GB is 2^30 bytes there, too
  const TableRow cells(table, number, problems);
  MemoryRow row;
  row.run = run_of(cells);
  row.experts = cells.count("experts", 0);
  row.batch = cells.count("batch", 1);
  row.gib = cells.positive("value") / (cells.choice("unit", kUnits) < 2 ? 1 : 1024);
  row.weights = cells.text("weights");
  row.weight_dtype = cells.text("weight_dtype");
  row.text_encoder = cells.text("text_encoder");
  row.by_allocator = cells.text("counter") == "allocated";
  row.ran_out = cells.text("outcome") == "oom";
  cells.resolution(row.run.width, row.run.height);
  return row;
}

Job job_of(const MemoryRow& row) {
  ConfigKeys keys = row_config(row.run, kCluster);
  for (auto& [key, value] : keys)
    if (key == "model.passes_in_batch") value = "1";  // the table's batch has them
  keys.emplace_back("model.batch", std::to_string(row.batch));
  keys.emplace_back("run.weights", row.weights);
  keys.emplace_back("run.weight_dtype", row.weight_dtype);
  keys.emplace_back("run.text_encoder", row.text_encoder);
  Job job = load_job({"", {}, settings_of(keys)});
  if (row.experts > 0) job.model.experts = row.experts;
  job.cluster.preset.device.memory_gib = row.gib;
  return job;
}

std::string degrees_text(const TimingRow& run) {
  if (run.gpus == 1) return "single";
  std::string text = run.ulysses > 1 ? fmt::format("u{}", run.ulysses) : "";
  if (run.ring > 1) text += fmt::format("{}r{}", text.empty() ? "" : " ", run.ring);
  return text;
}

// "wan2.1-t2v-14b, 1280x720, u8: sharded fp32, text encoder sharded"
std::string what_ran(const MemoryRow& row) {
  const TimingRow& run = row.run;
  return fmt::format("{}{}, {}x{}{}, {}: {} {}, text encoder {}", run.model,
                     row.experts > 0 ? fmt::format(", {} expert", row.experts) : "", run.width, run.height,
                     row.batch > 1 ? fmt::format(" x {}", row.batch) : "", degrees_text(run), row.weights,
                     row.weight_dtype, row.text_encoder);
}

std::string verdict_word(const MemoryNeed& need) {
  const std::string tight = need.tight() ? ", tight" : "";
  switch (need.verdict()) {
    case MemoryVerdict::kFits:
      return "fits" + tight;
    case MemoryVerdict::kFitsAlone:
      return "only with others elsewhere" + tight;
    case MemoryVerdict::kDoesNotFit:
      break;
  }
  return "does not fit";
}

// A line of the table.
struct Line {
  std::string source, what;
  std::vector<std::string> ids, gpus;
  CountedMemory memory;
  double least, largest;
  int missed;
  std::string verdict = {};  // of a run that ran out of memory
};

}  // namespace

Result<std::vector<MemoryRow>> read_memory_rows(const std::string& path) {
  const Result<CsvTable> table = read_table(path);
  if (!table) return table.error();
  constexpr std::array<std::string_view, 5> kNeeded = {"model", "gpus", "resolution", "value", "unit"};
  std::vector<Problem> problems = missing_columns(*table, kNeeded);
  if (!problems.empty()) return Error(std::move(problems));
  std::vector<MemoryRow> rows;
  for (std::size_t i = 0; i < table->rows.size(); ++i) rows.push_back(memory_row(*table, i, problems));
  if (!problems.empty()) return Error(std::move(problems));
  return rows;
}

CountedMemory counted_memory(const MemoryRow& row) {
  const Job job = job_of(row);
  CountedMemory memory;
  for_each_kind_of_layer(job, [&](const Request& request, const LayerDecision& decision) {
    const Result<PlannedLayer> planned = try_plan_layer(job.strategies.front(), request, decision);
    if (!planned) throw planned.error();
    MemoryNeed need =
        memory_need(planned->plan, planned->memory_bound_bytes, job.model, job.config.run, job.cluster.preset);
    if (memory.need.ranks.empty() || need.with_uncounted() > memory.need.with_uncounted())
      memory.need = std::move(need);
  });
  const RankMemory& rank = memory.need.ranks[static_cast<std::size_t>(memory.need.fullest())];
  memory.counted = static_cast<double>(rank.total() - rank.reserved) / kGib;
  memory.most = static_cast<double>(memory.need.with_uncounted() - (row.by_allocator ? rank.reserved : 0)) / kGib;
  return memory;
}

bool as_counted(const MemoryRow& row, const CountedMemory& memory) {
  if (row.ran_out) return memory.need.verdict() != MemoryVerdict::kFits || memory.need.tight();
  return memory.counted <= row.gib && row.gib <= memory.most;
}

std::string memory_section(const std::vector<MemoryRow>& rows) {
  // Runs that differ in the GPU alone have one line.
  std::vector<Line> lines;
  int peaks = 0, between = 0, ran_out = 0, warned = 0, left_out = 0;
  for (const MemoryRow& row : rows) {
    if (!row.run.left_out.empty()) {
      ++left_out;
      continue;
    }
    const CountedMemory memory = counted_memory(row);
    const bool good = as_counted(row, memory);
    (row.ran_out ? ran_out : peaks) += 1;
    if (good) (row.ran_out ? warned : between) += 1;
    const std::string what = what_ran(row);
    auto line = std::ranges::find_if(
        lines, [&](const Line& l) { return l.source == row.run.source && l.what == what && !row.ran_out; });
    if (line == lines.end()) line = lines.insert(line, {row.run.source, what, {}, {}, memory, 0, 0, 0});
    line->ids.push_back(row.run.id);
    const std::string gpu = fmt::format("{} {}", row.run.gpus, row.run.gpu);
    if (std::ranges::find(line->gpus, gpu) == line->gpus.end()) line->gpus.push_back(gpu);
    line->least = line->least == 0 ? row.gib : std::min(line->least, row.gib);
    line->largest = std::max(line->largest, row.gib);
    if (!good) ++line->missed;
    if (row.ran_out) line->verdict = fmt::format("out of {:.4g}: {}", row.gib, verdict_word(memory.need));
  }
  std::string text = fmt::format(
      "## Memory\n\n"
      "Published peaks of the fullest GPU, in GiB, beside what spscope [counts](metrics.md#memory-need) for them. A "
      "right count\n"
      "is at most the peak. Adding what is not counted must reach the peak: the VAE, what driver and libraries "
      "reserve, and a text\n"
      "encoder unless the source says that it is elsewhere. Sources that print GB mean 2^30 bytes, since only then do "
      "their peaks\n"
      "fall with the number of GPUs as weights do.\n\n"
      "| | rows | as counted | wanted |\n| --- | --- | --- | --- |\n"
      "| peaks between counted, and counted and not counted | {} | {} ({:.0f} %) | 80 %, {} |\n"
      "| runs out of memory, not called \"fits\" without a warning | {} | {} | all, {} |\n\n"
      "{} rows of [memory.csv](../bench/measured/memory.csv) are left out, each with its reason there. The last column "
      "has\n"
      "what is missed; of runs that ran out of memory, it has the verdict.\n\n"
      "| rows | GPUs | what ran | measured | counted | not counted | |\n| --- | --- | --- | --- | --- | --- | --- |\n",
      peaks, between, 100.0 * between / std::max(1, peaks), between >= kWanted * peaks ? "met" : "missed", ran_out,
      warned, warned == ran_out ? "met" : "missed", left_out);
  std::string source;
  for (const Line& line : lines) {
    if (line.source != source) text += fmt::format("| | | **{}** | | | | |\n", source = line.source);
    const double counted = line.memory.counted, most = line.memory.most;
    const std::string measured = line.least == line.largest ? fmt::format("{:.1f}", line.least)
                                                            : fmt::format("{:.1f} to {:.1f}", line.least, line.largest);
    std::string last = line.verdict;
    if (line.missed > 0 && last.empty())
      last = fmt::format("**missed**: {:.1f} {}", line.largest > most ? line.largest - most : counted - line.least,
                         line.largest > most ? "more" : "less");
    text += fmt::format("| {} | {} | {} | {} | {:.1f} | {:.1f} | {} |\n", fmt::join(line.ids, ", "),
                        fmt::join(line.gpus, ", "), line.what, line.verdict.empty() ? measured : "", counted,
                        std::max(0.0, most - counted), last);
  }
  return text;
}

}  // namespace spscope
