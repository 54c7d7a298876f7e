// Whether the user's desktop is dark or light, by what it tells programs: what the window takes until the user chooses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace spscope::gui {

// Of the name of a theme of GTK: "Adwaita:dark", "Breeze-Dark", "Adwaita"; nothing for "".
std::optional<bool> dark_by_theme_name(std::string_view name);
// Of a text of settings, lines of KEY=VALUE: gtk-application-prefer-dark-theme and gtk-theme-name of GTK, ColorScheme
// of KDE's kdeglobals. Nothing when it has none of them.
std::optional<bool> dark_by_settings(std::string_view text);

// The first that says it: the variable GTK_THEME, the colour scheme that GNOME and its kin keep (asked from gsettings,
// at most a third of a second), the settings of GTK 4 and 3, and of KDE, in `folder` (of environment.h).
std::optional<bool> desktop_is_dark(const std::string& folder);

}  // namespace spscope::gui
