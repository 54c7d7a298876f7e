// What a check of a GPU machine is: a function that tries one thing on the first GPU and tells what it found. Each runs
// in a process of its own (`gpu-check --check NAME`), since a device that has failed once is lost to its process.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/json.h"

namespace spscope::gpu_check {

enum class Bound { kNone, kAtLeast, kAtMost };

struct Figure {
  std::string name, unit;
  double value = 0;
  Bound bound = Bound::kNone;
  double limit = 0;
  // NaN holds nothing.
  bool holds() const { return bound == Bound::kNone || (bound == Bound::kAtLeast ? value >= limit : value <= limit); }
};

struct CheckResult {
  std::vector<std::string> faults = {};  // what is wrong
  std::string skipped = {};  // why the check, or the comparison it is for, could not be made; "" when it was
  std::vector<Figure> figures = {};
  std::map<std::string, std::string> facts = {};  // versions, workloads
};

// What a check may use.
struct CheckContext {
  int rounds = 0;        // of a measurement, at most; 0: as many as the check takes by itself
  bool tiny = false;     // sizes for the fake driver and for tools that slow kernels down a thousand times
  std::string self;      // the path of this program
  std::string programs;  // the folder of spscope and gpu-processes
  std::string scripts;   // the folder of the peers in Python
  std::string out;       // a folder for what the check leaves and for its temporary files
  std::string python;    // the interpreter that may have PyTorch

  // Rounds of a measurement that takes `full` of them on a GPU.
  int rounds_of(int full, int when_tiny = 1) const {
    return tiny ? when_tiny : rounds > 0 ? std::min(rounds, full) : full;
  }
};

// How the names of cluster profiles end that a check leaves in CheckContext::out: they are moved beside results.json.
inline constexpr std::string_view kProfileEnd = ".measured.toml";

struct Check {
  std::string_view name;  // letters, digits and dashes
  int cost_s;             // seconds on an H100, rounded up; it is stopped after twice as many and 60 s more
  CheckResult (*run)(const CheckContext&);
  std::string_view summary;
};
// In the order of checks.def, the worthiest first, which is the order in which they run.
std::span<const Check> checks();
// nullptr: there is none of that name.
const Check* find_check(std::string_view name);

// The first GPU and its driver. `missing` says why there is none.
struct Machine {
  std::string missing, gpu, capability, driver, bus_id;
  std::string uuid;  // as CUDA_VISIBLE_DEVICES takes it
  std::int64_t memory_bytes = 0;
  int num_sms = 0;
  bool fake = false;  // the driver of tests/fake_cuda: its times mean nothing
};
Machine read_machine();
// Where there are several GPUs, leaves this program, which begins anew, and its children the first alone: ranks would
// spread over all. Returns where that is so already. Throws Error.
void keep_first_gpu(char** arguments);

// Exit code of a check, or of a program that one runs, that was skipped.
inline constexpr int kSkippedExit = 77;

// "passed", "failed" or "skipped". Limits of a fake device are not looked at.
std::string_view status_of(const CheckResult& result, bool fake);
// Why, for people: faults, missed limits, or the reason of a skip.
std::string reason_of(const CheckResult& result, bool fake);
// As in docs/gpu-check.md.
Json json_of(const CheckResult& result, bool fake);

}  // namespace spscope::gpu_check
