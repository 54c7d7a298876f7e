// Power, energy, clocks and temperature by the collector `nvml` beside those by nvidia-smi, both read while attention
// of Wan2.1-1.3B keeps the GPU busy.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <sstream>
#include <thread>

#include "backend/base/result.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/command.h"
#include "bench/gpu/workload.h"
#include "collectors/collector.h"
#include "tests/support/kept_trace.h"

namespace spscope::gpu_check {
namespace {

constexpr double kMostNvmlDifference = 0.05;

// What is compared: nvidia-smi's field, and the collector's counter.
struct Quantity {
  std::string_view field, counter, unit;
};
constexpr std::array<Quantity, 4> kQuantities = {{{"power.draw.instant", "power (W)", "W"},
                                                  {"clocks.sm", "SM clock (MHz)", "MHz"},
                                                  {"clocks.mem", "memory clock (MHz)", "MHz"},
                                                  {"temperature.gpu", "temperature (C)", "C"}}};
constexpr const char* kEnergy = "energy (J)";

// Attention again and again until the end, on a thread of its own.
class Load {
 public:
  explicit Load(bool tiny) : thread_([this, tiny] { failure_ = failure_of([&] { run(tiny); }); }) {}
  ~Load() { end(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  // Throws Error: what it failed with.
  void stop() {
    end();
    if (failure_) throw Error(*failure_);
  }

 private:
  void run(bool tiny) {
    const Request request = wan_request(1, tiny);
    const Activations activations = generate_activations(request, 1);
    AttentionBench bench(request, activations);
    while (!stopping_) bench.run_ms();
  }
  void end() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::atomic<bool> stopping_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

// The fields that this nvidia-smi knows for the first GPU, one line of them each `period_ms`, or once.
std::vector<std::string> smi_command(const std::string& fields, int period_ms) {
  // nvidia-smi is killed in the end: what it has printed must not wait in a buffer.
  std::vector<std::string> command = {"stdbuf",
                                      "-oL",
                                      "nvidia-smi",
                                      "-i",
                                      read_machine().bus_id,
                                      "--query-gpu=" + fields,
                                      "--format=csv,noheader,nounits"};
  if (period_ms > 0) {
    command.emplace_back("-lms");
    command.push_back(std::to_string(period_ms));
  }
  return command;
}

// Means by field, of lines of numbers. Fields that the GPU has not are "[N/A]", and left out.
std::map<std::string_view, double> means_of(const std::string& lines) {
  std::map<std::string_view, double> sums, counts;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    std::istringstream cells(line);
    std::string cell;
    // The last line may be cut short.
    if (std::ranges::count(line, ',') + 1 != static_cast<std::ptrdiff_t>(kQuantities.size())) continue;
    for (const Quantity& quantity : kQuantities) {
      std::getline(cells, cell, ',');
      std::istringstream number(cell);
      if (double value = 0; number >> value) sums[quantity.field] += value, ++counts[quantity.field];
    }
  }
  for (auto& [field, sum] : sums) sum /= counts[field];
  return sums;
}

std::map<std::string, std::vector<CounterSample>> samples_of(KeptTrace& sink) {
  std::map<std::string, std::vector<CounterSample>> samples;
  for (const KeptTrace::KeptTrack& kept : sink.tracks())
    for (const RingRecord& record : kept.records)
      if (record.kind == RingKind::kCounter) samples[kept.track.name].push_back(record.counter());
  return samples;
}

// The counter of a quantity: "GPU 0 power (W)".
const std::vector<CounterSample>* find_counter(const std::map<std::string, std::vector<CounterSample>>& samples,
                                               std::string_view quantity) {
  for (const auto& [name, values] : samples)
    if (name.ends_with(quantity)) return &values;
  return nullptr;
}

double mean_of(const std::vector<CounterSample>& samples) {
  double sum = 0;
  for (const CounterSample& sample : samples) sum += sample.value;
  return sum / static_cast<double>(samples.size());
}

void compare(const std::map<std::string, std::vector<CounterSample>>& samples, std::map<std::string_view, double> smi,
             CheckResult& result) {
  const auto add = [&](std::string_view what, std::string_view unit, double ours, double theirs) {
    result.figures.push_back({fmt::format("{} against nvidia-smi's", what), "", std::abs(ours / theirs - 1),
                              Bound::kAtMost, kMostNvmlDifference});
    result.figures.push_back({fmt::format("{}", what), std::string(unit), ours});
  };
  for (const Quantity& quantity : kQuantities) {
    const std::vector<CounterSample>* const ours = find_counter(samples, quantity.counter);
    const auto name = quantity.counter.substr(0, quantity.counter.find(" ("));
    if (smi.contains(quantity.field) && ours != nullptr)
      add(name, quantity.unit, mean_of(*ours), smi[quantity.field]);
    else if (smi.contains(quantity.field) != (ours != nullptr))
      result.faults.push_back(fmt::format("{} is known to {} alone", name, ours != nullptr ? "nvml" : "nvidia-smi"));
  }
  // What nvidia-smi's power makes of the time between the first and the last sample.
  const std::vector<CounterSample>* const energy = find_counter(samples, kEnergy);
  if (energy == nullptr || !smi.contains(kQuantities[0].field)) return;
  const double seconds = static_cast<double>(energy->back().time_ns - energy->front().time_ns) * 1e-9;
  add("energy", "J", energy->back().value - energy->front().value, smi[kQuantities[0].field] * seconds);
}

}  // namespace

CheckResult check_collect_nvml(const CheckContext& context) {
  CheckResult result;
  const std::string said = context.out + "/nvidia-smi.csv";
  std::string fields;
  for (const Quantity& quantity : kQuantities) fields += (fields.empty() ? "" : ",") + std::string(quantity.field);
  CommandEnd end = run_command(smi_command(fields, 0), {.output = said, .timeout_s = 60});
  // Drivers before R535, and some GPUs, have the mean of a second alone.
  if (end.found && !means_of(text_of(said)).contains(kQuantities[0].field)) {
    fields.replace(fields.find(".instant"), std::string_view(".instant").size(), "");
    end = run_command(smi_command(fields, 0), {.output = said, .timeout_s = 60});
  }
  if (!end.found || end.exit_code != 0) {
    result.skipped = "no comparison with nvidia-smi: " + (end.found ? tail_of(said) : "stdbuf is not on this machine");
    return result;
  }
  const auto row = std::ranges::find(collectors(), "nvml", &CollectorRow::name);
  if (const std::optional<std::string> missing = row->cannot_collect()) {
    result.faults.push_back(*missing);
    return result;
  }
  KeptTrace sink(std::size_t{1} << 16);  // nobody takes records out meanwhile
  Load load(context.tiny);
  // Clocks and power settle first.
  const auto sleep_s = [&](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(context.tiny ? seconds / 10 : seconds));
  };
  sleep_s(4);
  std::atomic<bool> enough = false;
  std::thread smi(
      [&] { run_command(smi_command(fields, 100), {.output = said, .timeout_s = 120, .stopping = &enough}); });
  const std::unique_ptr<Collector> collector = row->start(sink, {.devices = {0}});
  sleep_s(10);
  collector->stop();
  enough = true;
  smi.join();
  load.stop();
  for (const std::string& note : collector->notes()) result.facts["not collected"] += note + "; ";
  const auto samples = samples_of(sink);
  const std::map<std::string_view, double> means = means_of(text_of(said));
  if (means.empty() || samples.empty()) {
    result.faults.push_back(
        fmt::format("nothing to compare: {} counters of nvml, nvidia-smi said: {}", samples.size(), tail_of(said)));
    return result;
  }
  compare(samples, means, result);
  return result;
}

}  // namespace spscope::gpu_check
