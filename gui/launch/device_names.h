// What devices are called where there is little room: without their place on the bus, unless two devices of a file have
// the same number.
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
