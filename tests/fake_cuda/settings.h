// What the fake CUDA driver pretends to be and which failures it plants, from the environment variable
// SPSCOPE_FAKE_CUDA or by spscope_fake_cuda_reset() (control.h). Settings are separated by spaces:
//
//   devices=2        how many GPUs there are; 0: cuInit() finds none
//   own=1            each process of MPI sees GPUs of its own, as with one GPU a task in Slurm
//   capability=8.0   their compute capability
//   memory=1000000   bytes of each; cuMemAlloc() fails when they are taken
//   sms=132          multiprocessors of each
//   times=planted    everything takes the time that planted_times.h says, and kernels do not compute
//   slow=20          each kernel, copy and memset that computes takes 20 times as long
//   driver=12040     the version of the driver (12.4)
//   peer=0           GPUs cannot reach each other's memory
//   pitch=0          cuMemcpy2DAsync() refuses pitches, as it may within a device
//   unready=N        the first N questions for the time of an event are answered by "not ready"
//   lost=N           the N-th word (from 1) that a stream of the process writes is lost
//   stale=1          other processes can open memory that was given up
//   queues=1         streams of a device share so many hardware queues: what waits at the head of one holds up the rest
//   jitter=7         every piece of work begins up to 0.2 ms late, by a generator with this seed
//   rank=1           the failures below happen only in the process of this MPI rank
//   refuse=KERNEL:N  the N-th launch (from 1) of a kernel is refused by cuLaunchKernel(); a name may end with *
//   fail=KERNEL:N    the N-th launch fails while it runs; as on a real GPU, the context is then unusable
//   hang=KERNEL:N    the N-th launch never ends
//   kill=KERNEL:N    the process dies (SIGKILL) when the N-th launch runs: a dead peer for others
//   lose=DEVICE:N    the GPU is lost at the N-th launch on it
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spscope::fake_cuda {

enum class Failure { kNone, kRefuse, kFail, kHang, kKill, kLose };

struct PlantedFailure {
  Failure failure = Failure::kNone;
  std::string kernel;  // may end with *
  int device = -1;     // of kLose
  int at = 0;          // the number of the launch
  std::atomic<int> seen = 0;
};

struct Settings {
  int devices = 1;
  int own_gpus = 0;  // of processes that see their own: 1 + the rank
  int major = 9, minor = 0;
  std::size_t memory_bytes = std::size_t{16} << 30;
  int num_sms = 4;
  bool planted_times = false;
  int slow = 1;
  int driver_version = 0;  // 0: that of <cuda.h>
  int peer = 1, pitch = 1;
  int unready = 0, lost = 0, stale = 0;
  int queues = 0;  // 0: each stream has its own
  int jitter = 0;  // 0: none
  std::vector<std::unique_ptr<PlantedFailure>> failures;
};

// Throws std::runtime_error naming a setting that is not known.
Settings read_settings(std::string_view text);

// Counts a launch and tells what happens to it.
Failure next_failure(Settings& settings, std::string_view kernel, int device);

}  // namespace spscope::fake_cuda
