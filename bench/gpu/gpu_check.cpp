// gpu-check: tells whether everything works on the first GPU of this machine, and how fast. docs/gpu-check.md explains
// its checks, parts and results.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "backend/base/clock.h"
#include "backend/base/exit_code.h"
#include "backend/execute/device_environment.h"
#include "backend/launch/stop_signals.h"
#include "bench/gpu/check.h"
#include "bench/gpu/command.h"
#include "bench/gpu/ipc_side.h"
#include "bench/gpu/parts.h"
#include "bench/gpu/results.h"

namespace spscope::gpu_check {
namespace {

constexpr char kUsage[] =
    R"(usage: gpu-check [--part K/N] [--only NAME]... [--out DIR] [--resume] [--python PROGRAM] [--tiny]
       gpu-check --list
       gpu-check --check NAME [--out DIR] [--python PROGRAM] [--tiny]

Checks spscope on the first GPU of this machine (CUDA_VISIBLE_DEVICES chooses another) and leaves results.json and
results.md in DIR, by default gpu-check-results.

  --part K/N   only part K of N: each ends within 8 minutes. Parts may share a DIR.
  --only NAME  only this check; may be given several times
  --resume     leave out what has passed according to DIR
  --list       the checks, what they cost in seconds, and how many parts are needed; needs no GPU
  --check NAME one check in this process; its result as JSON on stdout
  --python     the interpreter whose PyTorch is the peer (python3); without PyTorch comparisons with it are skipped
  --tiny       sizes for emulated kernels; figures then say nothing

Exit codes: 0 nothing failed, 1 a check failed, no time was left for one or there is no GPU, 2 usage, 77 (--check) skipped
)";

struct Flags {
  bool list = false, resume = false, tiny = false;
  int part = 0, parts = 0;
  std::vector<const Check*> only;
  const Check* check = nullptr;
  std::string out = "gpu-check-results", result, python = "python3", wrong;
};

bool read_part(std::string_view text, Flags& flags) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto number = [](std::string_view digits, int& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  return number(text.substr(0, slash), flags.part) && number(text.substr(slash + 1), flags.parts) && flags.part >= 1 &&
         flags.part <= flags.parts;
}

// What is wrong with the argument of a flag; "" when it is taken.
std::string take(std::string_view name, const std::string& text, Flags& flags) {
  if (name == "--out") return flags.out = text, std::string();
  if (name == "--python") return flags.python = text, std::string();
  if (name == "--result") return flags.result = text, std::string();
  if (name == "--part") {
    if (!read_part(text, flags)) return "--part takes K/N, as 1/6";
    if (flags.parts < fewest_parts()) return fmt::format("parts of 8 minutes are at least {}", fewest_parts());
    return {};
  }
  const Check* const check = find_check(text);
  if (check == nullptr) return fmt::format("there is no check \"{}\": see --list", text);
  if (name == "--check")
    flags.check = check;
  else
    flags.only.push_back(check);
  return {};
}

Flags read_flags(std::span<char*> arguments) {
  Flags flags;
  for (std::size_t i = 0; i < arguments.size() && flags.wrong.empty(); ++i) {
    const std::string_view name = arguments[i];
    const bool takes_text = name == "--out" || name == "--python" || name == "--result" || name == "--part" ||
                            name == "--check" || name == "--only";
    if (name == "--list")
      flags.list = true;
    else if (name == "--resume")
      flags.resume = true;
    else if (name == "--tiny")
      flags.tiny = true;
    else if (!takes_text)
      flags.wrong = fmt::format("\"{}\" is no flag", name);
    else if (++i == arguments.size())
      flags.wrong = fmt::format("{} takes a value", name);
    else
      flags.wrong = take(name, arguments[i], flags);
  }
  return flags;
}

// Programs lie beside this one, scripts in share/gpu-check beside its folder, in the build as in the bundle.
CheckContext context_of(const Flags& flags) {
  CheckContext context;
  context.tiny = flags.tiny;
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
  const Machine machine = read_machine();
  CheckResult result;
  if (machine.missing.empty())
    result = run_check(*flags.check, context_of(flags));
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

void list_checks() {
  int total_s = 0;
  for (const Check& check : checks()) {
    std::cout << fmt::format("{:<16} {:>4} s  {}\n", check.name, check.cost_s, check.summary);
    total_s += check.cost_s;
  }
  std::cout << fmt::format("{} checks, {} s: at least {} parts of 8 minutes\n", checks().size(), total_s,
                           fewest_parts());
}

std::vector<const Check*> chosen_checks(const Flags& flags) {
  if (!flags.only.empty()) return flags.only;
  return part(std::max(flags.part, 1), std::max(flags.parts, 1));
}

int run_all(const Flags& flags) {
  const std::atomic<bool>& stopping = watch_stop_signals(false);
  const std::int64_t begin_ns = now_ns();
  const auto passed_s = [&] { return static_cast<double>(now_ns() - begin_ns) * 1e-9; };
  const CheckContext context = context_of(flags);
  const Machine machine = read_machine();
  Results results(context.out, machine, flags.tiny);
  bool out_of_time = false, hangs = false;
  std::cout << (machine.missing.empty()
                    ? fmt::format("{}, compute capability {}, {}\n", machine.gpu, machine.capability, machine.driver)
                    : fmt::format("no GPU: {}\n", machine.missing));
  for (const Check* const check : chosen_checks(flags)) {
    if (stopping) break;
    if (flags.resume && results.has_passed(*check)) continue;
    CheckResult unmade;
    double limit_s = timeout_s(*check);
    if (flags.parts > 0) limit_s = std::min(limit_s, kPartRoom - passed_s());
    if (!machine.missing.empty()) unmade.skipped = "not measured: no device";
    if (limit_s < std::min(check->cost_s, timeout_s(*check)) / 2.0) {
      unmade.skipped = "the time of this part is over: --resume runs it";
      out_of_time = true;
    }
    std::cout << fmt::format("{:<16} ", check->name) << std::flush;
    const double before_s = passed_s();
    const Json result = unmade.skipped.empty() ? run_apart(*check, flags, context, limit_s, stopping, hangs)
                                               : json_of(unmade, machine.fake);
    if (stopping) break;
    results.add(*check, result, passed_s() - before_s);
    std::cout << fmt::format("{} ({:.1f} s){}{}\n", result["status"].text(), passed_s() - before_s,
                             result["reason"].text().empty() ? "" : ": ", result["reason"].text());
    if (hangs) break;
  }
  const Results::Count count = results.count();
  std::cout << fmt::format("{}{} passed, {} failed, {} skipped, {} not run; {}/results.md\n",
                           stopping ? "\ninterrupted: " : "", count.passed, count.failed, count.skipped, count.not_run,
                           flags.out);
  return stopping || out_of_time || count.failed > 0 || !machine.missing.empty() ? kExitFailed : kExitDone;
}

int run(char** program_and_arguments, std::span<char*> arguments) {
  if (arguments.size() == 3 && std::string_view(arguments[0]) == "--ipc-peer")
    return run_ipc_peer(arguments[1], arguments[2]);
  if (!arguments.empty() && (std::string_view(arguments[0]) == "--help" || std::string_view(arguments[0]) == "-h")) {
    std::cout << kUsage;
    return kExitDone;
  }
  const Flags flags = read_flags(arguments);
  if (!flags.wrong.empty()) {
    std::cerr << "gpu-check: " << flags.wrong << "\n" << kUsage;
    return kExitUsage;
  }
  if (flags.list) return list_checks(), kExitDone;
  keep_first_gpu(program_and_arguments);
  return flags.check != nullptr ? run_alone(flags) : run_all(flags);
}

}  // namespace
}  // namespace spscope::gpu_check

int main(int argc, char** argv) {
  spscope::set_device_environment();
  try {
    return spscope::gpu_check::run(argv, std::span(argv + 1, argv + argc));
  } catch (const spscope::Error& error) {
    std::cerr << "gpu-check: " << render(error) << "\n";
    return spscope::exit_code(error);
  } catch (const std::exception& error) {
    std::cerr << "gpu-check: " << error.what() << "\n";
    return spscope::kExitFailed;
  }
}
