// What devices, tracks and programs are called where there is little room: devices without their place on the bus,
// unless two of a file have the same number; communicators of NCCL without most of their hash; programs without their
// command.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace spscope::gui {

// "GPU 0" of "GPU 0 at 0000:3B:00.0" (gpu_text).
std::string_view without_place(std::string_view device);

// "NCCL tp, rank 3 of 8" of "NCCL 0x0000000000005eed rank 3 of 8 (tp)", "NCCL 5eed, rank 3 of 8" without a name, and
// "NCCL tp: error of device times" of what is told of its row; other names as they are.
std::string short_track_name(std::string_view name);
// "process 4711" of "python train.py (process 4711)".
std::string_view short_process_name(std::string_view process);

class DeviceNames {
 public:
  // All devices that are shown together.
  explicit DeviceNames(const std::set<std::string>& devices);

  // "GPU 0"; of one among several of this number as much of the place as tells them apart, "GPU 0 at 3B".
  std::optional<std::string> of(const std::optional<std::string>& device) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;
};

}  // namespace spscope::gui
