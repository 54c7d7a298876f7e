// gpu-check: tells whether everything works on the first GPU of this machine, and how fast. docs/gpu-check.md explains
// its checks, budgets and results.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "backend/base/clock.h"
#include "backend/base/exit_code.h"
#include "backend/execute/cuda/context.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/device_environment.h"
#include "backend/launch/stop_signals.h"
#include "bench/flags.h"
#include "bench/gpu/archive.h"
#include "bench/gpu/check.h"
#include "bench/gpu/clocks.h"
#include "bench/gpu/command.h"
#include "bench/gpu/diff.h"
#include "bench/gpu/ipc_side.h"
#include "bench/gpu/results.h"

namespace spscope::gpu_check {
namespace {

constexpr char kUsage[] =
    R"(usage: gpu-check [--budget SECONDS] [--only NAME]... [--out DIR] [--archive FILE] [--resume] [--rounds N]
                 [--python PROGRAM] [--tiny]
       gpu-check --list
       gpu-check --diff A.json B.json
       gpu-check --check NAME [--out DIR] [--rounds N] [--python PROGRAM] [--tiny]

Checks spscope on the first GPU of this machine (CUDA_VISIBLE_DEVICES chooses another) and leaves results.json,
results.md and what the GPU costs as a cluster profile, GPU.measured.toml, in DIR, by default gpu-check-results.

  --budget S   end within S seconds, at least 30: the checks run in the order of --list, and those that do not fit into
               what is left are left out and named
  --only NAME  only this check; may be given several times
  --archive F  after each check, pack the texts in DIR into F (.tar.gz), less than 16 MB
  --resume     leave out what has passed according to DIR
  --rounds N   at most N rounds of each measurement
  --list       the checks and about how many seconds each takes; needs no GPU
  --diff A B   the figures and verdicts of two results.json side by side
  --check NAME one check in this process; its result as JSON on stdout
  --python     the interpreter whose PyTorch is the peer (python3); without PyTorch comparisons with it are skipped
  --tiny       sizes for emulated kernels; figures then say nothing

Exit codes: 0 nothing failed, 1 a check failed, no time was left for one or there is no GPU, 2 usage, 77 (--check) skipped
)";

// Of a budget: writing results and the archive, and a check that does not end at once.
constexpr int kLastSeconds = 15, kLeastBudget = 30;

struct Flags {
  bool list = false, resume = false, tiny = false;
  int budget_s = 0, rounds = 0;  // 0: no limit
  std::vector<std::string> only;
  std::string check, out = "gpu-check-results", archive, result, python = "python3";
};

// False: one cannot be used, which is said.
bool take_flags(int argc, char** argv, Flags& flags) {
  const bool understood = read_flags(argc, argv,
                                     {{"--list", &flags.list},
                                      {"--resume", &flags.resume},
                                      {"--tiny", &flags.tiny},
                                      {"--budget", &flags.budget_s, kLeastBudget},
                                      {"--rounds", &flags.rounds},
                                      {"--only", &flags.only},
                                      {"--check", &flags.check},
                                      {"--out", &flags.out},
                                      {"--archive", &flags.archive},
                                      {"--result", &flags.result},
                                      {"--python", &flags.python}});
  std::vector<std::string> names = flags.only;
  if (!flags.check.empty()) names.push_back(flags.check);
  for (const std::string& name : names) {
    if (find_check(name) != nullptr) continue;
    std::cerr << fmt::format("there is no check \"{}\": see --list\n", name);
    return false;
  }
  return understood;
}

// Programs lie beside this one, scripts in share/gpu-check beside its folder, in the build as in the bundle.
CheckContext context_of(const Flags& flags) {
  CheckContext context;
  context.tiny = flags.tiny;
  context.rounds = flags.rounds;
  context.self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::filesystem::path folder = std::filesystem::path(context.self).parent_path();
  context.programs = folder.string();
  context.scripts = (folder.parent_path() / "share" / "gpu-check").string();
  std::filesystem::create_directories(flags.out);
  context.out = std::filesystem::absolute(flags.out).string();
  context.python = flags.python;
  return context;
}

CheckResult run_check(const Check& check, const CheckContext& context) {
  try {
    return check.run(context);
  } catch (const Error& error) {
    return {.faults = {error.hint().empty() ? error.what() : fmt::format("{}; {}", error.what(), error.hint())}};
  } catch (const std::exception& error) {
    return {.faults = {error.what()}};
  }
}

int run_alone(const Flags& flags) {
  // A check that run_apart() started leads a process group. It ends with its gpu-check, also where that is killed, and
  // takes along the programs that it has started: the next one finds the GPU free.
  if (!flags.result.empty()) {
    std::signal(SIGTERM, [](int) { kill(-getpid(), SIGKILL); });
    prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  const Machine machine = read_machine();
  CheckResult result;
  if (machine.missing.empty())
    result = run_check(*find_check(flags.check), context_of(flags));
  else
    result.skipped = "not measured: no device: " + machine.missing;
  const Json json = json_of(result, machine.fake);
  std::cout << json.dump(2) << "\n" << std::flush;
  if (!flags.result.empty()) {
    std::FILE* const file = std::fopen(flags.result.c_str(), "w");
    if (file == nullptr || std::fputs(json.dump().c_str(), file) < 0 || std::fclose(file) != 0) return kExitFailed;
  }
  const std::string_view status = status_of(result, machine.fake);
  return status == "failed" ? kExitFailed : status == "skipped" ? kSkippedExit : kExitDone;
}

// In a process of its own. `hangs`: which cannot be ended.
Json run_apart(const Check& check, const Flags& flags, const CheckContext& context, double limit_s,
               const std::atomic<bool>& stopping, bool& hangs) {
  const std::string name(check.name), folder = context.out + "/" + name, answer = folder + "/result.json";
  std::filesystem::create_directories(folder);
  std::filesystem::remove(answer);
  std::vector<std::string> command = {context.self, "--check",    name,       "--out", folder,
                                      "--python",   flags.python, "--result", answer};
  if (flags.tiny) command.emplace_back("--tiny");
  if (flags.rounds > 0) command.insert(command.end(), {"--rounds", std::to_string(flags.rounds)});
  const CommandEnd end = run_command(
      command, {.output = folder + "/log.txt", .timeout_s = limit_s, .own_group = true, .stopping = &stopping});
  CheckResult broken;
  hangs = end.hangs;
  if (end.hangs)
    broken.faults.push_back(fmt::format(
        "it took more than {:.0f} s and cannot be ended: the driver hangs (`dmesg`, `nvidia-smi`)", limit_s));
  else if (end.timed_out)
    broken.faults.push_back(fmt::format("it took more than {:.0f} s and was stopped", limit_s));
  else if (std::optional<Json> result = Json::parse(text_of(answer)); result && result->contains("status"))
    return *std::move(result);
  else
    broken.faults.push_back(fmt::format("its process ended with {}: {}", end.exit_code, tail_of(folder + "/log.txt")));
  return json_of(broken, false);
}

// Profiles that a check has left in its folder go to `out`, where results are.
void keep_profiles(const std::string& folder, const std::string& out) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const std::filesystem::path& path = entry.path(); path.string().ends_with(kProfileEnd))
      std::filesystem::rename(path, std::filesystem::path(out) / path.filename());
}

void list_checks() {
  int total_s = 0;
  for (const Check& check : checks()) {
    std::cout << fmt::format("{:<16} {:>4} s  {}\n", check.name, check.cost_s, check.summary);
    total_s += check.cost_s;
  }
  std::cout << fmt::format("{} checks, about {} s\n", checks().size(), total_s);
}

std::vector<const Check*> chosen_checks(const Flags& flags) {
  std::vector<const Check*> chosen;
  for (const std::string& name : flags.only) chosen.push_back(find_check(name));
  if (chosen.empty())
    for (const Check& check : checks()) chosen.push_back(&check);
  return chosen;
}

// While it lives, the driver stays up between the processes of checks, which start the faster. Where it cannot be had,
// the checks say why.
std::unique_ptr<cuda::CudaContext> hold_driver(const Machine& machine) {
  try {
    // Where only one process may use the GPU, the checks would find it taken.
    int mode = CU_COMPUTEMODE_DEFAULT;
    CUdevice device = 0;
    if (machine.missing.empty() && cuda::driver().cuDeviceGet(&device, 0) == CUDA_SUCCESS)
      cuda::driver().cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device);
    return machine.missing.empty() && mode == CU_COMPUTEMODE_DEFAULT ? std::make_unique<cuda::CudaContext>(0) : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

int run_all(const Flags& flags) {
  const std::atomic<bool>& stopping = watch_stop_signals(false);
  const std::int64_t begin_ns = now_ns();
  const auto passed_s = [&] { return static_cast<double>(now_ns() - begin_ns) * 1e-9; };
  const CheckContext context = context_of(flags);
  const Machine machine = read_machine();
  Results results(context.out, machine, flags.tiny);
  const auto archive = [&] {
    if (!flags.archive.empty()) write_archive(context.out, flags.archive);
  };
  archive();  // a place that cannot be written is refused before anything runs
  std::unique_ptr<cuda::CudaContext> held = hold_driver(machine);
  std::string left_out;
  bool hangs = false;
  std::cout << (machine.missing.empty()
                    ? fmt::format("{}, compute capability {}, {}\n", machine.gpu, machine.capability, machine.driver)
                    : fmt::format("no GPU: {}\n", machine.missing));
  for (const Check* const check : chosen_checks(flags)) {
    if (stopping || hangs) break;
    if (flags.resume && results.has_passed(*check)) continue;
    CheckResult unmade;
    double limit_s = 2 * check->cost_s + 60;
    if (flags.budget_s > 0) limit_s = std::min(limit_s, flags.budget_s - kLastSeconds - passed_s());
    if (!machine.missing.empty()) {
      unmade.skipped = "not measured: no device";
    } else if (limit_s < check->cost_s) {
      unmade.skipped = "no time is left for it: --resume runs it";
      left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", check->name);
    }
    std::cout << fmt::format("{:<16} ", check->name) << std::flush;
    const double before_s = passed_s();
    Json result = json_of(unmade, machine.fake);
    if (unmade.skipped.empty()) {
      ClockWatch clocks;
      result = run_apart(*check, flags, context, limit_s, stopping, hangs);
      keep_profiles(fmt::format("{}/{}", context.out, check->name), context.out);
      // Stopped by the budget: that says nothing of the check.
      if (!hangs && limit_s < 2 * check->cost_s + 60 && passed_s() - before_s >= limit_s) {
        unmade.skipped = "it was stopped, as no time was left: --resume runs it";
        result = json_of(unmade, machine.fake);
        left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", check->name);
      }
      for (const auto& [what, value] : clocks.end()) result["facts"][what] = value;
    }
    if (stopping) break;
    results.add(*check, result, passed_s() - before_s);
    try {
      archive();
    } catch (const Error& error) {
      std::cerr << "gpu-check: " << error.what() << "\n";
    }
    std::cout << fmt::format("{} ({:.1f} s){}{}\n", result["status"].text(), passed_s() - before_s,
                             result["reason"].text().empty() ? "" : ": ", result["reason"].text());
  }
  const Results::Count count = results.count();
  if (!left_out.empty()) std::cout << fmt::format("left out for lack of time: {}\n", left_out);
  std::cout << fmt::format("{}{} passed, {} failed, {} skipped, {} not run; {}/results.md\n",
                           stopping ? "\ninterrupted: " : "", count.passed, count.failed, count.skipped, count.not_run,
                           flags.out)
            << std::flush;
  const bool good = !stopping && left_out.empty() && count.failed == 0 && machine.missing.empty();
  if (hangs) static_cast<void>(held.release());  // giving it back would hang, too
  return good ? kExitDone : kExitFailed;
}

int run(int argc, char** argv) {
  const std::span arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && std::string_view(arguments[0]) == "--ipc-peer")
    return run_ipc_peer(arguments[1], arguments[2]);
  if (!arguments.empty() && (std::string_view(arguments[0]) == "--help" || std::string_view(arguments[0]) == "-h")) {
    std::cout << kUsage;
    return kExitDone;
  }
  if (!arguments.empty() && std::string_view(arguments[0]) == "--diff" && arguments.size() == 3)
    return std::cout << difference(arguments[1], arguments[2]), kExitDone;
  Flags flags;
  if (!take_flags(argc, argv, flags)) return kExitUsage;
  if (flags.list) return list_checks(), kExitDone;
  keep_first_gpu(argv);
  return !flags.check.empty() ? run_alone(flags) : run_all(flags);
}

}  // namespace
}  // namespace spscope::gpu_check

int main(int argc, char** argv) {
  spscope::set_device_environment();
  try {
    return spscope::gpu_check::run(argc, argv);
  } catch (const spscope::Error& error) {
    std::cerr << "gpu-check: " << render(error) << "\n";
    return spscope::exit_code(error);
  } catch (const std::exception& error) {
    std::cerr << "gpu-check: " << error.what() << "\n";
    return spscope::kExitFailed;
  }
}
