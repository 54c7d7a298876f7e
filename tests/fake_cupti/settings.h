// Which failures the fake CUPTI plants, from the environment variable SPSCOPE_FAKE_CUPTI, or SPSCOPE_FAKE_CUPTI_13 for
// that of CUDA 13 alone, or by spscope_fake_cupti_reset() (control.h). Settings are separated by spaces:
//
//   other=NAME        another program traces the process already (error 39); _ stands for a space
//   fail=CALL:RESULT  the call fails: fail=cuptiActivityEnable:27, or fail=cuptiActivityEnable.12:27 for one kind
//   drop=N            every N-th record finds no room and is counted as dropped
//   untimed=N         every N-th kernel has no times
//   damage=N          the last record of every N-th buffer has a kind that there is not
//   late=1            what a flush should give back comes with spscope_fake_cupti_deliver_late()
//   kernel_bytes=N    kernels are records of N bytes, a version that nobody knows
//   shapes=N          kernels have N different grids; else each has its own
//   silent=1          it steps over no record, as CUPTI 13.4 where there is no driver
//   silent=start      likewise until it has asked for a buffer
//   slow_ms=N         disabling a kind takes so long, and then a lock that is held while the program is called back
//   version=N         what cuptiGetVersion() tells, in place of its own
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace spscope::fake_cupti {

struct Settings {
  std::string other;
  std::map<std::string, int> failures;  // by CALL or CALL.KIND
  int drop = 0, untimed = 0, damage = 0, shapes = 0, late = 0, slow_ms = 0;
  int kernel_bytes = 0, version = 0;  // 0: its own
  bool silent = false, silent_at_start = false;
};

// Throws std::runtime_error naming a setting that is not known.
Settings read_settings(std::string_view text);

}  // namespace spscope::fake_cupti
