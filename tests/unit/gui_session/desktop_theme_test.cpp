#include "gui/launch/desktop_theme.h"

#include <gtest/gtest.h>

namespace spscope::gui {
namespace {

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
