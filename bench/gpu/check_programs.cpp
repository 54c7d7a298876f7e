// Checks that start programs: spscope itself, ranks as processes, and compute-sanitizer on a small run of this program.
#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "bench/gpu/all_checks.h"
#include "bench/gpu/command.h"

namespace spscope::gpu_check {
namespace {

constexpr int kSanitizerExit = 86;

// Faults of a command that had to succeed; what it prints is kept in OUT/<log>.
std::string run_kept(const CheckContext& context, const std::vector<std::string>& command, const std::string& log,
                     CheckResult& result) {
  const std::string path = context.out + "/" + log;
  const CommandEnd end = run_command(command, {.output = path});
  if (!end.found)
    result.faults.push_back("there is no " + command.front());
  else if (end.exit_code != 0)
    result.faults.push_back(fmt::format("{} ended with {}: {}", command[0], end.exit_code, tail_of(path)));
  return text_of(path);
}

std::string spscope(const CheckContext& context) { return context.programs + "/spscope"; }

}  // namespace

CheckResult check_doctor(const CheckContext& context) {
  CheckResult result;
  const std::string said = run_kept(context, {spscope(context), "doctor"}, "doctor.txt", result);
  const std::string gpu = read_machine().gpu;
  if (result.faults.empty() && said.find(gpu) == std::string::npos)
    result.faults.push_back("doctor does not name the GPU " + gpu);
  return result;
}

CheckResult check_run(const CheckContext& context) {
  CheckResult result;
  const std::string store = context.out + "/run.db";
  std::vector<std::string> command = {spscope(context), "run", "-s", "ulysses", "-s", "ring", "--force", "-o", store};
  const char* const wan = "model.preset=wan2.1-t2v-1.3b";
  const std::vector<std::string> settings = {context.tiny ? "model.grid=3,6,7" : wan,
                                             context.tiny ? "model.heads=4" : "run.dtype=bf16",
                                             context.tiny ? "model.head_dim=8" : "mask.block=64",
                                             "cluster.ranks=2",
                                             "run.device=cuda",
                                             "run.mode=execute",
                                             "run.layers=1",
                                             "run.denoise_steps=1",
                                             "run.scope=attention"};
  for (const std::string& setting : settings) {
    command.emplace_back("--set");
    command.push_back(setting);
  }
  run_kept(context, command, "run.txt", result);
  if (!result.faults.empty()) {
    CheckResult alone;
    for (const char* word : {"--set", "run.collect=none"}) command.emplace_back(word);
    run_kept(context, command, "run-without-collectors.txt", alone);
    result.faults.emplace_back(alone.faults.empty() ? "without collectors the run succeeds"
                                                    : "without collectors the run fails, too");
    return result;
  }
  const std::string report = run_kept(context, {spscope(context), "report", store}, "run-report.md", result);
  if (result.faults.empty() && report.find("| ok ") == std::string::npos)
    result.faults.emplace_back("the report does not say that outputs equal the reference");
  return result;
}

namespace {

// "h100-80gb-hbm3.measured.toml" of "NVIDIA H100 80GB HBM3".
std::string profile_name(std::string gpu) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (gpu.starts_with(kMaker)) gpu.erase(0, kMaker.size());
  for (char& c : gpu) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  return gpu + std::string(kProfileEnd);
}

}  // namespace

CheckResult check_calibrate(const CheckContext& context) {
  CheckResult result;
  const std::string name = profile_name(read_machine().gpu), profile = context.out + "/" + name,
                    log = context.out + "/calibrate.json";
  std::vector<std::string> command = {spscope(context), "calibrate", "--device", "cuda",    "--dtype",
                                      "bf16",           "-o",        profile,    "--force", "--json"};
  if (context.tiny)
    for (const char* word : {"--tokens", "64", "--seconds", "1"}) command.emplace_back(word);
  const CommandEnd end = run_command(command, {.output = log, .error = context.out + "/calibrate.txt"});
  const std::optional<Json> said = Json::parse(text_of(log));
  if (end.exit_code != 0 || !said || !std::filesystem::exists(profile)) {
    result.faults.push_back(
        fmt::format("spscope calibrate ended with {}: {}", end.exit_code, tail_of(context.out + "/calibrate.txt")));
    return result;
  }
  result.facts["profile"] = name;
  if (!said->contains("numbers")) {
    result.faults.emplace_back("spscope calibrate names no numbers");
    return result;
  }
  for (const char* number : {"cost.attend_ns_per_launch", "cost.attend_ns_per_row", "cost.attend_ns_per_pair_channel",
                             "cost.move_ns_per_byte", "cost.pack_ns_per_byte", "cost.host_ns_per_launch",
                             "network.link_gbps", "network.compute_slowdown", "device.memory_gbps"}) {
    const Json* const found = (*said)["numbers"].find(number);
    if (found == nullptr || !(*found)["value"].is_number()) continue;
    result.figures.push_back({number, "", (*found)["value"].number()});
    if ((*found)["spread"].is_number())
      result.figures.push_back({fmt::format("{}, spread", number), "", (*found)["spread"].number()});
  }
  result.figures.push_back({"gap between launches", "us", 1e-3 * (*said)["launch_gap_ns"].number()});
  return result;
}

CheckResult check_processes(const CheckContext& context) {
  CheckResult result;
  const std::string program = context.programs + "/gpu-processes", log = context.out + "/processes.txt";
  if (!std::filesystem::exists(program)) {
    result.skipped = "this build has no gpu-processes: it was made without Open MPI";
    return result;
  }
  const CommandEnd version = run_command({"mpirun", "--version"}, {.output = log, .timeout_s = 20});
  if (version.found && text_of(log).find("Open MPI") == std::string::npos) {
    result.skipped = "mpirun is not Open MPI's: " + tail_of(log, 100);
    return result;
  }
  const std::vector<std::string> command = {"mpirun",  "--allow-run-as-root",    "--oversubscribe", "-n", "2", program,
                                            "--every", context.tiny ? "40" : "1"};
  const CommandEnd end = run_command(command, {.output = log});
  const std::string said = text_of(log);
  if (!end.found || said.find("cannot open shared object file") != std::string::npos)
    result.skipped = "Open MPI 4 or 5 (mpirun, libmpi.so.40) is not on this machine";
  else if (end.exit_code != 0)
    result.faults.push_back(fmt::format("ranks in processes ended with {}: {}", end.exit_code, tail_of(log)));
  return result;
}

CheckResult check_sanitizer(const CheckContext& context, const std::string& tool) {
  CheckResult result;
  const std::string log = context.out + "/" + tool + ".txt";
  CommandEnd end{.found = false};
  std::string used;
  for (const char* program : {"compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer"}) {
    used = program;
    end = run_command({program, "--tool", tool, "--error-exitcode", std::to_string(kSanitizerExit), context.self,
                       "--check", "kernels", "--tiny", "--out", context.out + "/" + tool},
                      {.output = log});
    if (end.found) break;
  }
  if (!end.found)
    result.skipped = "compute-sanitizer is not on the path and not in /usr/local/cuda/bin";
  else if (end.exit_code == kSanitizerExit)
    result.faults.push_back("it found errors: " + tail_of(log));
  else if (end.exit_code != 0 && end.exit_code != kSkippedExit)
    result.faults.push_back(fmt::format("the run in it ended with {}: {}", end.exit_code, tail_of(log)));
  else if (end.exit_code == kSkippedExit)
    result.skipped = "no device inside of " + used;
  result.facts["program"] = used;
  return result;
}

}  // namespace spscope::gpu_check
