// The small units of gui/launch.
#include <gtest/gtest.h>

#include <vector>

#include "gui/launch/desktop_theme.h"
#include "gui/launch/device_names.h"

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

TEST(ShortTrackName, OfNcclBeginsWithTheCommunicator) {
  EXPECT_EQ(short_track_name("NCCL 0x0000000000005eed rank 3 of 8 (tp)"), "NCCL tp, rank 3 of 8");
  EXPECT_EQ(short_track_name("NCCL 0x5d3a90c1 rank 0 of 2"), "NCCL 90c1, rank 0 of 2");
  EXPECT_EQ(short_track_name("NCCL 0x5d3a90c1 rank 0 of 2 error of device times"), "NCCL 90c1: error of device times");
  EXPECT_EQ(short_track_name("NCCL 0x5d3a90c1 rank 0 (tp) error of device times"), "NCCL tp: error of device times");
  EXPECT_EQ(short_track_name("NCCL 0x00000000000000ff"), "NCCL 00ff");
  EXPECT_EQ(short_track_name("NCCL 0x"), "NCCL ");
  for (const char* name : {"stream 7", "thread 11: calls", "NCCL calls, thread 11", "NCCL", ""})
    EXPECT_EQ(short_track_name(name), name);
}

TEST(ShortProcessName, IsThatOfTheProcess) {
  EXPECT_EQ(short_process_name("python train.py --steps (2) (process 4711)"), "process 4711");
  EXPECT_EQ(short_process_name("python3 4000"), "python3 4000");
  EXPECT_EQ(short_process_name("(process 4711) and more"), "(process 4711) and more");
}

TEST(DesktopTheme, NamesOfThemesSayDark) {
  EXPECT_EQ(dark_by_theme_name(""), std::nullopt);
  EXPECT_EQ(dark_by_theme_name("Adwaita"), false);
  EXPECT_EQ(dark_by_theme_name("Adwaita:dark"), true);
  EXPECT_EQ(dark_by_theme_name("Breeze-Dark"), true);
}

TEST(DesktopTheme, SettingsSayItByAKeyOrByTheNameOfATheme) {
  EXPECT_EQ(dark_by_settings(""), std::nullopt);
  EXPECT_EQ(dark_by_settings("[Settings]\ngtk-cursor-theme-name=dark\nno equals\n"), std::nullopt);
  EXPECT_EQ(dark_by_settings("[Settings]\ngtk-theme-name = Adwaita\r\ngtk-application-prefer-dark-theme = 1\r\n"),
            true);
  EXPECT_EQ(dark_by_settings("gtk-application-prefer-dark-theme=0\ngtk-theme-name=Yaru"), false);
  EXPECT_EQ(dark_by_settings("[General]\nColorScheme=BreezeDark\n"), true);
}

}  // namespace
}  // namespace spscope::gui
