// What the fake NVML says and which failures it plants, from the environment variable SPSCOPE_FAKE_NVML or by
// spscope_fake_nvml_reset() (control.h). Settings are separated by spaces:
//
//   gpus=2                   how many GPUs there are, at 0000:01:00.0 and so on
//   set=NAME@GPU:V,V,V       what successive calls give; the last one stays. Names are those of kUsual in settings.cpp
//   fail=CALL:RESULT         the call fails: fail=nvmlInit_v2:9
//   fail=CALL@GPU:RESULT     for one GPU; field.138 is a call, too
//   fail=CALL@GPU:RESULT,N   once, the N-th time (from 1)
//   lose=GPU:N               all calls fail with 15 from the N-th call for this GPU on
//   mig=GPU                  it is divided into MIG instances
//   gate=PATH                nvmlInit_v2 waits until there is such a file, as a driver waits for GPUs that sleep
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace spscope::fake_nvml {

struct Failure {
  int result = 0;
  int at = 0;  // 0: always
};

struct Settings {
  int gpus = 1;
  std::map<std::string, std::vector<std::uint64_t>> values = {};  // by NAME or NAME@GPU
  std::map<std::string, Failure> failures = {};                   // by CALL or CALL@GPU
  int lost_gpu = -1, lost_at = 0;
  int mig_gpu = -1;
  std::string gate = {};
};

// Throws std::runtime_error naming a setting that is not known.
Settings read_settings(std::string_view text);

}  // namespace spscope::fake_nvml
