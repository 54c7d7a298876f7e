#include "backend/job/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "backend/base/cores.h"
#include "backend/execute/execute.h"
#include "kernels/calibrate.h"
#include "kernels/gemm.h"

namespace spscope {
namespace {

// The value of the first line "key : value" of a /proc file; "" when there is none.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

// In which type products of bf16 numbers are computed: what a measured time of theirs is a time of.
std::string bf16_products() {
  return kernels::gemm_input_dtype(Dtype::kBf16) == Dtype::kBf16 ? "in bf16"
                                                                 : "in fp32: the processor has none in bf16";
}

}  // namespace

std::vector<MachineFact> executor_facts() {
  std::vector<MachineFact> facts;
  for (const Executor& row : executors()) {
    const std::string why = row.unavailable().message;
    // The default device needs no mention.
    const std::string device = row.device == executors().front().device ? "" : fmt::format("{} ", row.device);
    facts.push_back({fmt::format("{}ranks by {}", device, row.backend), why.empty() ? std::string(row.summary) : why});
  }
  return facts;
}

std::vector<MachineFact> machine_facts() {
  utsname system{};
  uname(&system);
  const double gib =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1 << 30);
  const std::string cpu = proc_value("/proc/cpuinfo", "model name");
  return {
      {"cpu", cpu.empty() ? system.machine : cpu}, {"cores", std::to_string(usable_cores())},
      {"memory", fmt::format("{:.1f} GiB", gib)},  {"vector target", std::string(kernels::dispatched_target())},
      {"bf16 products", bf16_products()},          {"system", fmt::format("{} {}", system.sysname, system.release)}};
}

}  // namespace spscope
