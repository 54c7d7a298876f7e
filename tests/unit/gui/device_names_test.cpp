// What devices are called where there is little room.
#include "gui/launch/device_names.h"

#include <gtest/gtest.h>

#include <vector>

namespace spscope::gui {
namespace {

std::vector<std::string> names(const std::set<std::string>& devices) {
  const DeviceNames names(devices);
  std::vector<std::string> found;
  for (const std::string& device : devices) found.push_back(names.of(device).value_or("none"));
  return found;
}

using Names = std::vector<std::string>;

TEST(DeviceNames, HaveNoPlaceWhereTheirNumberIsEnough) {
  EXPECT_EQ(names({"GPU 0 at 0000:3B:00.0", "GPU 1 at 0000:5E:00.0", "GPU 2", "loader"}),
            (Names{"GPU 0", "GPU 1", "GPU 2", "loader"}));
  EXPECT_EQ(DeviceNames({}).of(std::nullopt), std::nullopt);
  EXPECT_EQ(DeviceNames({}).of("GPU 7 at 0000:3B:00.0"), "GPU 7 at 0000:3B:00.0");  // none of them
}

TEST(DeviceNames, OfOneNumberHaveWhatDiffersInTheirPlaces) {
  EXPECT_EQ(names({"GPU 0 at 0000:3B:00.0", "GPU 0 at 0000:5E:00.0", "GPU 1 at 0000:86:00.0"}),
            (Names{"GPU 0 at 3B", "GPU 0 at 5E", "GPU 1"}));
  EXPECT_EQ(names({"GPU 0 at 0000:3B:00.0", "GPU 0 at 0001:3B:00.0"}), (Names{"GPU 0 at 0000", "GPU 0 at 0001"}));
  EXPECT_EQ(names({"GPU 0 at 0000:3B:00.0", "GPU 0 at 0000:3B:00.1"}), (Names{"GPU 0 at 0", "GPU 0 at 1"}));
  EXPECT_EQ(names({"GPU 0", "GPU 0 at 0000:3B:00.0"}), (Names{"GPU 0", "GPU 0 at 0000:3B:00.0"}));
}

}  // namespace
}  // namespace spscope::gui
