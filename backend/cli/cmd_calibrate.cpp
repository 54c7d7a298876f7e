// `spscope calibrate`: measures this machine or its GPU, prints what was found with its unit and how well the models
// fit, and writes the profile for cluster.profile.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "backend/base/json.h"
#include "backend/base/listed.h"
#include "backend/base/printable_stream.h"
#include "backend/base/whole_file.h"
#include "backend/cli/calibrate_attention.h"
#include "backend/cli/calibrate_fit.h"
#include "backend/cli/command.h"
#include "backend/execute/calibrate/calibrate.h"
#include "backend/job/machine.h"

namespace spscope {
namespace {

constexpr int kAnEighth = -1;  // of the SMs

struct CalibrateFlags {
  std::string output, device = std::string(executors().front().device), dtype = "fp32", fit, attention, cluster, model;
  int tokens = 0, comm_sms = kAnEighth;
  double seconds = CalibrateOptions().seconds;
  bool force = false;
};

// How a number of the profile is shown: its value times `scale`.
struct ShownNumber {
  std::string_view name, label, unit;
  double scale;
};
constexpr ShownNumber kShown[] = {
    {"network.link_gbps", "exchange, one way of both at once", "GB/s", 1},
    {"network.intra_latency_ns", "exchange, each", "us", 1e-3},
    {"network.compute_slowdown", "compute beside an exchange takes", "times as long", 1},
    {"cost.host_ns_per_launch", "host, each launch", "us", 1e-3},
    {"cost.host_ns_per_hop", "host, each exchange", "us", 1e-3},
    {"cost.attend_ns_per_launch", "attention, each launch", "us", 1e-3},
    {"cost.attend_ns_per_row", "attention, each query row", "ns", 1},
    {"cost.attend_ns_per_pair_channel", "attention, each pair and channel", "ps", 1e3},
    {"cost.move_ns_per_byte", "copy, merge, finish, each byte", "ps", 1e3},
    {"cost.pack_ns_per_byte", "packing, each byte", "ps", 1e3},
    {"cost.gemm_ns_per_flop", "matrix product, each FLOP", "ps", 1e3},
    {"device.memory_gbps", "memory, reads and writes", "GB/s", 1},
    {"device.memory_gib", "memory of a rank", "GiB", 1},
};

// Refuses before anything is measured what could not be written afterwards.
void check_output(const CalibrateFlags& flags) {
  if (flags.output.empty()) return;
  std::error_code unknown;
  if (std::filesystem::is_directory(flags.output, unknown))
    throw Error(ErrorCode::kOutputPlace, fmt::format("cannot write the file: {}", flags.output),
                "it is a folder: choose the name of a file");
  require_writable(flags.output);
  if (!std::filesystem::exists(flags.output, unknown)) return;
  if (!flags.force)
    throw Error(ErrorCode::kStoreExists, fmt::format("the file exists: {}", flags.output), "--force replaces it");
  if (!read_profile(flags.output).has_value())
    throw Error(ErrorCode::kStoreForeign, fmt::format("the file is not a cluster profile: {}", flags.output),
                "--force replaces only a profile; choose another name");
}

bool is_gpu(const Calibration& result) { return !result.device.empty(); }

// What the numbers are of: the GPU, or the machine that computed.
std::vector<MachineFact> measured_machine(const Calibration& result) {
  if (!is_gpu(result)) return machine_facts();
  std::vector<MachineFact> facts;
  for (const DeviceFact& fact : result.device) facts.push_back({fact.name, fact.value});
  return facts;
}

double value_of(ClusterPreset preset, std::string_view name) {
  const auto fields = cluster_fields();
  return std::ranges::find(fields, name, &ClusterFieldRow::name)->ref(preset);
}

bool is_measured(const Calibration& result, std::string_view number) {
  return std::ranges::find(result.unmeasured, number) == result.unmeasured.end();
}

// Those that the device has.
std::vector<ShownNumber> shown_numbers(const Calibration& result) {
  std::vector<ShownNumber> shown;
  std::ranges::copy_if(kShown, std::back_inserter(shown), [&](const ShownNumber& number) {
    return result.preset.sources.contains(std::string(number.name));
  });
  return shown;
}

Json quality_json(const FitQuality& q) {
  return {{"points", q.num_samples},
          {"median_relative_residual", q.median_relative_residual},
          {"max_relative_residual", q.max_relative_residual}};
}

Json to_json(const Calibration& result, const CalibrateFlags& flags, const std::string& output) {
  Json machine, numbers;
  for (const MachineFact& fact : measured_machine(result)) machine[fact.name] = fact.value;
  for (const ShownNumber& number : shown_numbers(result)) {
    const std::string name(number.name);
    numbers[name] = {{"value", value_of(result.preset, name)}, {"source", result.preset.sources.at(name)}};
    if (!is_measured(result, name)) numbers[name]["value"] = nullptr;
    const auto spread = result.spreads.find(name);
    numbers[name]["spread"] = spread == result.spreads.end() ? Json() : Json(spread->second);
  }
  Json attention = Json::array();
  for (const AttentionTime& time : result.attention)
    attention.push_back({{"tokens", time.tokens},
                         {"heads", time.heads},
                         {"head_dim", time.head_dim},
                         {"block", time.block},
                         {"density", time.density},
                         {"ms", time.ms.value},
                         {"spread", time.ms.spread}});
  return {{"schema_version", 1},
          {"device", flags.device},
          {"machine", std::move(machine)},
          {"name", result.preset.name},
          {"note", result.preset.note},
          {"numbers", std::move(numbers)},
          {"attention", std::move(attention)},
          {"launch_gap_ns", is_gpu(result) ? Json(result.launch_gap_ns) : Json()},
          {"fit",
           {{"attend", quality_json(result.attend)},
            {"move", quality_json(result.move)},
            {"link", quality_json(result.link)}}},
          {"fma_gflop_per_s", is_gpu(result) ? Json() : Json(result.fma_gflop_per_s)},
          {"copy_gbps", result.copy_gbps},
          {"file", output}};
}

void print_text(std::ostream& out, const Calibration& result) {
  out << fmt::format("{}\n\n", result.preset.note);
  for (const ShownNumber& number : shown_numbers(result)) {
    const double value = value_of(result.preset, number.name) * number.scale;
    const std::string shown =
        is_measured(result, number.name) ? fmt::format("{:.4g}", value) : std::string("unmeasured");
    out << fmt::format("{:<34} {:>10} {:<14} {}\n", number.label, shown, number.unit, number.name);
  }
  // One pair and channel is 4 FLOPs.
  const double attend_gflop_per_s = 4 / std::max(1e-12, result.preset.cost.attend_ns_per_pair_channel);
  const std::string peak = is_gpu(result)
                               ? ""
                               : fmt::format(", {:.2f} of the FMA peak of {:.1f}",
                                             attend_gflop_per_s / result.fma_gflop_per_s, result.fma_gflop_per_s);
  out << fmt::format("\nattention on active tiles {:.1f} GFLOP/s{}; copy {:.1f} GB/s\n", attend_gflop_per_s, peak,
                     result.copy_gbps);
  const auto quality = [&](std::string_view name, const FitQuality& q) {
    out << fmt::format("{:<20} {} points, off by {:.1f} % in the median, {:.1f} % at most\n", name, q.num_samples,
                       100 * q.median_relative_residual, 100 * q.max_relative_residual);
  };
  quality("fit of attention", result.attend);
  quality("fit of moves", result.move);
  quality("fit of exchanges", result.link);
}

// On one GPU the numbers of links are those of its memory.
bool has_no_link(const Calibration& result) {
  const auto origin = result.preset.origins.find("network.link_gbps");
  return is_gpu(result) && origin != result.preset.origins.end() && origin->second == NumberOrigin::kAssumed;
}

constexpr std::string_view kNoLink =
    "[network] has the speed of one GPU's memory, not of a link: replace it by that of your machine, or measure where "
    "two GPUs reach each other";

// What a profile holds beside its numbers, as comments: what they cannot say. The lines of times are a table that
// --attention reads.
std::string comments_of(const Calibration& result) {
  std::string text = has_no_link(result) ? fmt::format("# {}.\n", kNoLink) : "";
  text +=
      "# Attention that the numbers of [cost] are fitted to; spread: of the quartiles, over the median.\n"
      "# tokens,heads,head_dim,block,density,ms,spread\n";
  for (const AttentionTime& time : result.attention)
    text += fmt::format("# {},{},{},{},{:.6g},{:.6g},{:.3f}\n", time.tokens, time.heads, time.head_dim, time.block,
                        time.density, time.ms.value, time.ms.spread);
  return text;
}

// A fit with a larger median error does not describe this machine.
constexpr double kBadFit = 0.2;

void warn_of_bad_fits(std::ostream& err, const Calibration& result) {
  const std::pair<std::string_view, const FitQuality*> fits[] = {
      {"attention", &result.attend}, {"moves", &result.move}, {"exchanges", &result.link}};
  for (const auto& [name, quality] : fits)
    if (quality->median_relative_residual > kBadFit)
      err << fmt::format(
          "warning: the fit of {} is off by {:.0f} % in the median, more than {:.0f} %: calibrate again on an "
          "idle machine\n",
          name, 100 * quality->median_relative_residual, 100 * kBadFit);
}

std::string machine_note(const Calibration& result, Dtype dtype) {
  std::string note = fmt::format("spscope calibrate, {}:", dtype_name(dtype));
  for (const MachineFact& fact : measured_machine(result))
    note += fmt::format("{} {} {}", note.ends_with(':') ? "" : ",", fact.name, fact.value);
  return note;
}

int calibrate_machine(CommandContext& context, const CalibrateFlags& flags) {
  check_output(flags);
  CalibrateOptions options;
  options.device = flags.device;
  options.max_tokens = flags.tokens;
  if (flags.comm_sms != kAnEighth) options.comm_sms = flags.comm_sms;
  options.dtype = flags.dtype == "bf16" ? Dtype::kBf16 : Dtype::kFp32;
  options.seconds = flags.seconds;
  if (context.progress)
    options.on_phase = [&](std::string_view phase) {
      write_sequence(context.err, "\r\033[K");
      context.err << fmt::format("measuring: {}", phase);
      context.err.flush();
    };
  Calibration result = calibrate(options);
  if (context.progress) write_sequence(context.err, "\r\033[K");
  result.preset.note = machine_note(result, options.dtype);
  warn_of_bad_fits(context.err, result);
  if (has_no_link(result))
    context.err << fmt::format("warning: {}\n  {}\n", kNoLink, result.preset.sources.at("network.link_gbps"));
  const bool complete = result.unmeasured.empty(), written = complete && !flags.output.empty();
  if (written) write_whole_file(flags.output, comments_of(result) + cluster_toml(result.preset));
  if (context.json)
    context.out << fmt::format("{}\n", to_json(result, flags, written ? flags.output : "").dump(2));
  else
    print_text(context.out, result);
  if (!complete) {
    const bool gpu = is_gpu(result);
    context.err << fmt::format(
        "\ncould not measure {}: the times of exchanges between two {} do not follow from their bytes{}; no profile is "
        "written\n  calibrate again on an idle {}, or with a longer --seconds\n",
        listed(result.unmeasured), gpu ? "ranks" : "threads", gpu ? "" : ", or they stopped all compute beside them",
        gpu ? "GPU" : "machine with two free cores");
    return kExitFailed;
  }
  if (context.json) return kExitDone;
  say_where_profile_is(context, flags.output);
  return kExitDone;
}

// Each once, in the order of the table.
std::vector<std::string> devices() {
  std::vector<std::string> names;
  for (const Executor& row : executors())
    if (std::ranges::find(names, row.device) == names.end()) names.emplace_back(row.device);
  return names;
}

}  // namespace

Command declare_calibrate() {
  auto flags = std::make_shared<CalibrateFlags>();
  Command command;
  command.flags = {
      {.names = "-o,--output", .help = "write the profile here", .target = &flags->output},
      {.names = "--force", .help = "replace the output file when it is a profile", .target = &flags->force},
      {.names = "--dtype",
       .help = "storage type of q, k, v and o",
       .target = &flags->dtype,
       .rule = OneOf{{"fp32", "bf16"}}},
      {.names = "--fit",
       .help =
           "CSV with times of your own runs: fits a GPU cluster's profile to them instead of measuring this machine",
       .target = &flags->fit},
      {.names = "--attention",
       .help = "CSV with times of an attention kernel of yours: puts it in the place of that of --cluster",
       .target = &flags->attention,
       .excludes = "--fit"},
      {.names = "--cluster",
       .help = "preset or profile to start from, with --attention and with --fit; without it --fit takes what the "
               "table's gpu and interconnect name",
       .target = &flags->cluster},
      {.names = "--model", .help = "with --attention: model preset that the profile is for", .target = &flags->model},
      {.names = "--device",
       .help = "what is measured, as run.device; cuda: the first GPU",
       .target = &flags->device,
       .rule = OneOf{devices()},
       .excludes = "--fit"},
      {.names = "--tokens",
       .help = "of the longest attention that is measured: at most 131072; 0: 2048, on a GPU 8192",
       .target = &flags->tokens,
       .rule = IntegerBetween{0, 131072},
       .excludes = "--fit"},
      {.names = "--comm-sms",
       .help = "on a GPU: SMs that communication takes; 0: none, as copy engines; -1: an eighth of them, 16 at most",
       .target = &flags->comm_sms,
       .rule = IntegerBetween{kAnEighth, 1024},
       .excludes = "--fit"},
      {.names = "--seconds",
       .help = "how long measuring should take: 1 to 3600",
       .target = &flags->seconds,
       .rule = NumberBetween{1, 3600},
       .value_name = "SECONDS"},
  };
  command.action = [flags](CommandContext& context) {
    if (flags->fit.empty() && flags->attention.empty()) return calibrate_machine(context, *flags);
    check_output(*flags);
    if (!flags->attention.empty())
      return take_attention(context, flags->attention, flags->cluster, flags->model, flags->output);
    return fit_to_times(context, flags->fit, flags->cluster, flags->output);
  };
  return command;
}

}  // namespace spscope
