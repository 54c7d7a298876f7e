// Programs of PyTorch under `spscope attach`: what is stored of their kernels beside what torch.profiler says of the
// same program, both at once, and what is stored of NCCL.
#include <cxxabi.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/median.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/command.h"

namespace spscope::gpu_check {
namespace {

constexpr double kMostDifference = 0.02;
constexpr double kProgramSeconds = 180;  // of one program; PyTorch alone may take long to start from a cold disk

// A program in Python, that prints one line of JSON.
struct Said {
  std::optional<Json> answer;
  std::string error;  // what it printed besides, and what attach said
  std::string fault;  // it did not end well
  bool found = true;
};

class Programs {
 public:
  explicit Programs(const CheckContext& context) : context_(context) {}

  // `store`: where attach stores what it collects, by a flag of its own; "": alone.
  Said run(const std::string& name, const std::string& script, const std::vector<std::string>& arguments,
           const std::string& store, const std::string& flag = "--force") const {
    std::vector<std::string> command;
    if (!store.empty()) command = {context_.programs + "/spscope", "attach", flag, "-o", store, "--"};
    command.push_back(context_.python);
    command.push_back(context_.scripts + "/" + script);
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::string output = context_.out + "/" + name + ".json", error = context_.out + "/" + name + ".txt";
    const CommandEnd end =
        run_command(command, {.output = output, .error = error, .timeout_s = kProgramSeconds, .own_group = true});
    Said said{.answer = Json::parse(text_of(output)), .error = text_of(error), .fault = {}, .found = end.found};
    if (end.exit_code != 0 || !said.answer)
      said.fault = fmt::format("{} ended with {}: {}", name, end.exit_code, tail_of(error));
    return said;
  }

  // Rows of a question to a store. Throws Error.
  Json ask(const std::string& store, const std::string& question) const {
    const std::string output = context_.out + "/answer.json", error = context_.out + "/answer.txt";
    const CommandEnd end = run_command({context_.programs + "/spscope", "sql", store, question, "--json"},
                                       {.output = output, .error = error});
    const std::optional<Json> answer = Json::parse(text_of(output));
    if (end.exit_code != 0 || !answer)
      throw Error(ErrorCode::kUnavailable, fmt::format("spscope sql {} failed: {}", store, tail_of(error)));
    return (*answer)["rows"];
  }

  std::string store(const std::string& name) const { return context_.out + "/" + name + ".db"; }

 private:
  const CheckContext& context_;
};

// Why the program cannot be asked, into the result. False: it can.
bool cannot_run(const Said& said, const CheckContext& context, const char* what, CheckResult& result) {
  if (!said.found)
    result.skipped = fmt::format("{}: there is no {}", what, context.python);
  else if (said.fault.empty() && said.answer->contains("missing"))
    result.skipped = fmt::format("{}: {}", what, (*said.answer)["missing"].text());
  else if (!said.fault.empty())
    result.faults.push_back(said.fault);
  else
    return false;
  return true;
}

// -- attach-torch

struct Kernels {
  std::map<std::string, std::int64_t> counts;  // by name
  std::int64_t ns = 0;
};

// torch.profiler leaves long names as the compiler made them.
std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

// Rows of name, count and nanoseconds.
Kernels kernels_of(const Json& rows) {
  Kernels kernels;
  for (const Json& row : rows) {
    kernels.counts[demangled(row[0].text())] += static_cast<std::int64_t>(row[1].number());
    kernels.ns += static_cast<std::int64_t>(row[2].number());
  }
  return kernels;
}

// None where nothing was stored.
Kernels stored_kernels(const Programs& programs, const std::string& store) {
  if (!std::filesystem::exists(store)) return {};
  return kernels_of(programs.ask(store,
                                 "SELECT name, count(*), sum(end_ns - begin_ns) FROM event WHERE category = 'kernel' "
                                 "GROUP BY name"));
}

// "name: 7 and 8"; "" where the counts are equal.
std::string differing(const Kernels& attached, const Kernels& profiled) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> both;
  for (const auto& [name, count] : attached.counts) both[name].first = count;
  for (const auto& [name, count] : profiled.counts) both[name].second = count;
  std::string text;
  int differ = 0;
  for (const auto& [name, counts] : both)
    if (counts.first != counts.second && ++differ <= 3)
      text +=
          fmt::format("{}{}: {} and {}", text.empty() ? "" : ", ", name.substr(0, 100), counts.first, counts.second);
  return differ > 3 ? fmt::format("{} and {} more", text, differ - 3) : text;
}

// In turn under attach and under torch.profiler.
class TorchComparison {
 public:
  TorchComparison(const CheckContext& context, CheckResult& result)
      : context_(context), programs_(context), result_(result) {
    if (context.tiny) steps_ = {"--steps", "2"};
  }

  // False: PyTorch is missing, or the program fails without anybody watching.
  bool run_alone() {
    const Said said = programs_.run("alone", kScript, steps_, "");
    if (cannot_run(said, context_, "no comparison with torch.profiler", result_)) return false;
    checksum_ = (*said.answer)["checksum"].text();
    result_.facts["peer"] = (*said.answer)["versions"].text();
    return true;
  }

  void run_round(int round) {
    const std::optional<Kernels> attached = attach_to(fmt::format("attached-{}", round), steps_);
    const std::optional<Kernels> profiled = profile(fmt::format("profiled-{}", round));
    if (!attached || !profiled) return;
    if (const std::string differences = differing(*attached, *profiled); !differences.empty())
      result_.faults.push_back(
          fmt::format("kernels differ in round {}, under attach and torch.profiler: {}", round + 1, differences));
    for (const auto& [name, count] : attached->counts) num_kernels_ += count;
    attached_ms_.push_back(static_cast<double>(attached->ns) * 1e-6);
    profiled_ms_.push_back(static_cast<double>(profiled->ns) * 1e-6);
  }

  // The program goes on, and attach says who else traces it. With a CUPTI that takes several clients both see all of
  // it.
  void run_both() {
    const std::string store = programs_.store("both");
    std::filesystem::remove(store);
    const Said said = programs_.run("both", kScript, with_profile("both"), store);
    if (!is_right(said)) return;
    std::string& outcome = result_.facts["attach, with torch.profiler"];
    outcome = named_client(said.error);
    if (!outcome.empty()) return;
    const Kernels attached = stored_kernels(programs_, store);
    const std::string differences = differing(attached, kernels_of((*said.answer)["kernels"]));
    if (differences.empty() && attached.ns > 0)
      outcome = "both see all kernels";
    else
      result_.faults.push_back(fmt::format(
          "attach does not name torch.profiler, and stores {} ns of kernels; under attach and torch.profiler "
          "differ: {}",
          attached.ns, differences));
  }

  void add_figures() {
    if (attached_ms_.empty()) return;
    const double attached = median(attached_ms_), profiled = median(profiled_ms_);
    result_.figures = {
        {"kernel time under attach against torch.profiler's", "", std::abs(attached / profiled - 1), Bound::kAtMost,
         kMostDifference},
        {"kernel time under attach", "ms", attached},
        {"kernel time under torch.profiler", "ms", profiled},
        {"kernels of a run", "", static_cast<double>(num_kernels_) / static_cast<double>(attached_ms_.size())},
    };
  }

 private:
  static constexpr const char* kScript = "torch_program.py";

  std::vector<std::string> with_profile(const std::string& name) const {
    std::vector<std::string> arguments = {"--profile", context_.out + "/" + name + "-trace.json"};
    arguments.insert(arguments.end(), steps_.begin(), steps_.end());
    return arguments;
  }
  bool is_right(const Said& said) {
    if (!said.fault.empty()) return result_.faults.push_back(said.fault), false;
    if ((*said.answer)["checksum"].text() == checksum_) return true;
    result_.faults.emplace_back("the program's results change when it is watched");
    return false;
  }
  std::optional<Kernels> attach_to(const std::string& name, const std::vector<std::string>& arguments) {
    const std::string store = programs_.store(name);
    const Said said = programs_.run(name, kScript, arguments, store);
    if (!is_right(said)) return std::nullopt;
    Kernels kernels = stored_kernels(programs_, store);
    judge_ranges(said, store);
    if (!kernels.counts.empty()) return kernels;
    result_.faults.push_back("attach stored no kernel: " + tail_of(context_.out + "/" + name + ".txt"));
    return std::nullopt;
  }
  // Each range of NVTX is stored once, by its name, unless attach says why none can be.
  void judge_ranges(const Said& said, const std::string& store) {
    std::string& outcome = result_.facts["NVTX ranges"];
    outcome = line_with(said.error, {"NVTX ranges: "});
    if (!outcome.empty()) return;
    const Json rows = programs_.ask(store,
                                    "SELECT count(*), count(DISTINCT text) FROM NVTX_EVENTS WHERE category = 13 AND "
                                    "text GLOB 'torch_program step [0-9]*'");
    const double made = (*said.answer)["ranges"].number(), stored = rows[0][0].number(), names = rows[0][1].number();
    outcome = fmt::format("{} are stored with {} names; the program made {}", stored, names, made);
    if (stored != made || names != made) result_.faults.push_back("of NVTX ranges " + outcome);
  }
  std::optional<Kernels> profile(const std::string& name) {
    const Said said = programs_.run(name, kScript, with_profile(name), "");
    if (!is_right(said)) return std::nullopt;
    return kernels_of((*said.answer)["kernels"]);
  }
  // What attach says of another client of CUPTI; "" when it says nothing.
  static std::string named_client(const std::string& error) {
    return line_with(error, {"torch.profiler", "traces this process"});
  }
  // The first line of attach's that has one of these.
  static std::string line_with(const std::string& error, std::initializer_list<const char*> texts) {
    std::istringstream lines(error);
    for (std::string line; std::getline(lines, line);)
      for (const char* const text : texts)
        if (line.starts_with("spscope attach: ") && line.find(text) != std::string::npos) return line;
    return {};
  }

  const CheckContext& context_;
  const Programs programs_;
  CheckResult& result_;
  std::vector<std::string> steps_;
  std::string checksum_;
  std::vector<double> attached_ms_, profiled_ms_;
  std::int64_t num_kernels_ = 0;
};

}  // namespace

CheckResult check_attach_torch(const CheckContext& context) {
  CheckResult result;
  TorchComparison comparison(context, result);
  if (!comparison.run_alone()) return result;
  for (int round = 0; round < context.rounds_of(5) && result.faults.empty(); ++round) comparison.run_round(round);
  if (result.faults.empty()) comparison.run_both();
  comparison.add_figures();
  return result;
}

CheckResult check_collect_window(const CheckContext& context) {
  constexpr int kInside = 7;  // steps of some 40
  CheckResult result;
  const Programs programs(context);
  const std::string store = programs.store("window");
  std::filesystem::remove(store);
  const Said said = programs.run("window", "torch_program.py", {"--inside", std::to_string(kInside), "--steps", "40"},
                                 store, "--profiler-ranges");
  if (cannot_run(said, context, "nothing of a window", result)) return result;
  result.facts["peer"] = (*said.answer)["versions"].text();
  std::int64_t num_kernels = 0;
  for (const auto& [name, count] : stored_kernels(programs, store).counts) {
    num_kernels += count;
    if (count % kInside != 0)
      result.faults.push_back(fmt::format("{} is stored {} times; {} steps are in the window", name, count, kInside));
  }
  if (num_kernels == 0)
    result.faults.push_back("no kernel is stored; attach said: " + tail_of(context.out + "/window.txt"));
  result.figures = {{"kernels of a step in the window", "", static_cast<double>(num_kernels) / kInside}};
  return result;
}

CheckResult check_collect_nccl(const CheckContext& context) {
  CheckResult result;
  const Programs programs(context);
  const std::string store = programs.store("nccl");
  const Said said = programs.run("nccl", "nccl_program.py", {}, store);
  if (cannot_run(said, context, "nothing of NCCL", result)) return result;
  result.facts["peer"] = (*said.answer)["versions"].text();
  const double sums = (*said.answer)["sums"].number(), bytes = (*said.answer)["bytes"].number();
  // By communicator and rank: sums, numbers of NCCL, and those with times of the device.
  const Json rows = programs.ask(
      store,
      fmt::format("SELECT track.name, count(*), count(DISTINCT sequence), sum(event.begin_ns < transfer_begin_ns) "
                  "FROM event JOIN track USING (track_id) WHERE track.name GLOB 'NCCL 0x*' AND event.name GLOB "
                  "'AllReduce*' AND bytes = {} GROUP BY track_id",
                  static_cast<std::int64_t>(bytes)));
  double ranks = 0, timed = 0;
  for (const Json& row : rows) {
    ++ranks;
    timed += row[3].number();
    if (row[1].number() != sums || row[2].number() != sums)
      result.faults.push_back(fmt::format("{} has {} sums with {} numbers of NCCL; the program made {}", row[0].text(),
                                          row[1].number(), row[2].number(), sums));
  }
  if (ranks == 0)
    result.faults.push_back(
        "no sum of NCCL is stored, so NCCL did not load the plugin that attach names in "
        "NCCL_PROFILER_PLUGIN; attach and NCCL said: " +
        tail_of(context.out + "/nccl.txt"));
  else if (ranks != 2)
    result.faults.push_back(fmt::format("sums of {} ranks are stored; the program has 2", ranks));
  result.figures = {{"sums stored with times of the device", "", ranks > 0 ? timed / (ranks * sums) : 0}};
  return result;
}

}  // namespace spscope::gpu_check
