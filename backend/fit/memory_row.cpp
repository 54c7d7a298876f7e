#include "backend/fit/memory_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

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

// "wan2.1-t2v-14b, 1280x720"
std::string model_text(const MemoryRow& row) {
  const TimingRow& run = row.run;
  return fmt::format("{}{}, {}x{}{}", run.model, row.experts > 0 ? fmt::format(", {} expert", row.experts) : "",
                     run.width, run.height, row.batch > 1 ? fmt::format(" x {}", row.batch) : "");
}

// "sharded fp32, text encoder sharded"
std::string kept_text(const MemoryRow& row) {
  return fmt::format("{} {}, text encoder {}", row.weights, row.weight_dtype, row.text_encoder);
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

// Runs that differ in the GPU alone.
struct Peak {
  std::string source, model, degrees, kept;
  std::vector<std::string> ids, gpus;
  int num_gpus = 0;
  CountedMemory memory;
  double least = 0, largest = 0;
  int missed = 0;
  std::string verdict;  // of a run that ran out of memory

  bool is_plain() const { return missed == 0 && verdict.empty(); }
  // Whether both stand in one row, which then differ in the number of GPUs and how they share the work.
  bool is_of_row(const Peak& other) const {
    return source == other.source && model == other.model && kept == other.kept && gpus == other.gpus && is_plain() &&
           other.is_plain();
  }
};

// A row of the table, after its first bar.
std::string row_of(std::span<const Peak* const> peaks) {
  std::vector<std::string> ids, numbers, degrees, measured, counted, uncounted;
  for (const Peak* const peak : peaks) {
    ids.insert(ids.end(), peak->ids.begin(), peak->ids.end());
    numbers.push_back(std::to_string(peak->num_gpus));
    degrees.push_back(peak->degrees);
    measured.push_back(peak->least == peak->largest ? fmt::format("{:.1f}", peak->least)
                                                    : fmt::format("{:.1f} to {:.1f}", peak->least, peak->largest));
    counted.push_back(fmt::format("{:.1f}", peak->memory.counted));
    uncounted.push_back(fmt::format("{:.1f}", std::max(0.0, peak->memory.most - peak->memory.counted)));
  }
  const Peak& first = *peaks.front();
  const double most = first.memory.most;
  std::string last = first.verdict;
  if (first.missed > 0 && last.empty())
    last = fmt::format("**missed**: {:.1f} {}",
                       first.largest > most ? first.largest - most : first.memory.counted - first.least,
                       first.largest > most ? "more" : "less");
  return fmt::format("{} | {} {} | {}, {}: {} | {} | {} | {} | {} |\n", fmt::join(ids, ", "), fmt::join(numbers, ", "),
                     fmt::join(first.gpus, ", "), first.model, fmt::join(degrees, ", "), first.kept,
                     first.verdict.empty() ? fmt::format("{}", fmt::join(measured, ", ")) : "",
                     fmt::join(counted, ", "), fmt::join(uncounted, ", "), last);
}

// The rows of all peaks; the first one of a source names it.
std::string rows_of(const std::vector<Peak>& peaks) {
  std::string text, source;
  std::vector<bool> written(peaks.size());
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    if (written[i]) continue;
    std::string above;
    if (peaks[i].source != source) above = fmt::format("**{}** ", source = peaks[i].source);
    std::vector<const Peak*> row = {&peaks[i]};
    for (std::size_t j = i + 1; j < peaks.size(); ++j)
      if (!written[j] && peaks[i].is_of_row(peaks[j])) written[j] = true, row.push_back(&peaks[j]);
    text += "| " + above + row_of(row);
  }
  return text;
}

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
    MemoryNeed need = memory_need(planned->plan, planned->memory_bound_bytes, job.model, job.config.run,
                                  job.cluster.preset, job.plans_at_once());
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
  std::vector<Peak> all;
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
    const std::string model = model_text(row), degrees = degrees_text(row.run), kept = kept_text(row);
    auto peak = std::ranges::find_if(all, [&](const Peak& p) {
      return p.source == row.run.source && p.model == model && p.degrees == degrees && p.kept == kept && !row.ran_out;
    });
    if (peak == all.end()) {
      peak = all.insert(peak, Peak{});
      peak->source = row.run.source, peak->model = model, peak->degrees = degrees, peak->kept = kept;
      peak->num_gpus = row.run.gpus, peak->memory = memory;
    }
    peak->ids.push_back(row.run.id);
    if (std::ranges::find(peak->gpus, row.run.gpu) == peak->gpus.end()) peak->gpus.push_back(row.run.gpu);
    peak->least = peak->least == 0 ? row.gib : std::min(peak->least, row.gib);
    peak->largest = std::max(peak->largest, row.gib);
    if (!good) ++peak->missed;
    if (row.ran_out) peak->verdict = fmt::format("out of {:.4g}: {}", row.gib, verdict_word(memory.need));
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
      "what is missed; of runs that ran out of memory, it has the verdict. A row has runs that differ in the number of "
      "GPUs,\n"
      "in their order.\n\n"
      "| rows | GPUs | what ran | measured | counted | not counted | |\n| --- | --- | --- | --- | --- | --- | --- |\n",
      peaks, between, 100.0 * between / std::max(1, peaks), between >= kWanted * peaks ? "met" : "missed", ran_out,
      warned, warned == ran_out ? "met" : "missed", left_out);
  return text + rows_of(all);
}

}  // namespace spscope
