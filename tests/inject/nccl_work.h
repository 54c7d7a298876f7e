// What a program does with NCCL, the fake one, which finds its profiler by NCCL_PROFILER_PLUGIN as NCCL does and closes
// it with the last communicator.
#pragma once

#include <memory>

namespace spscope {

class NcclWork {
 public:
  // `newest`: the newest interface that NCCL knows, 3 to 6. A communicator "tp" of 8 ranks, of which this is number 3.
  explicit NcclWork(int newest);
  ~NcclWork();
  NcclWork(const NcclWork&) = delete;
  NcclWork& operator=(const NcclWork&) = delete;

  // All-reduces of 1000 floats on two channels, numbered from 0 on, and waits until NCCL has told all of each.
  void reduce(int number);
  // Sends of 12 bytes to rank 6, without waiting: they end when this does.
  void send(int number);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace spscope
