#include "backend/base/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace spscope {
namespace {

// The quota of control groups version 2 in cores; 0 when there is none.
double quota_cores() {
  std::ifstream in("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period_us = 0;
  if (!(in >> quota >> period_us) || quota == "max" || period_us <= 0) return 0;
  return std::strtod(quota.c_str(), nullptr) / period_us;
}

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // more cores than a cpu_set_t holds
}

}  // namespace

int usable_cores() {
  const int cores = affinity_cores();
  const double quota = quota_cores();
  return std::max(1, quota > 0 ? std::min(cores, static_cast<int>(std::ceil(quota))) : cores);
}

}  // namespace spscope
