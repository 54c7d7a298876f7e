#include "gui/launch/desktop_theme.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "backend/base/letter_case.h"
#include "backend/base/regular_file.h"
#include "backend/base/result.h"
#include "backend/config/environment.h"
#include "gui/launch/child.h"

namespace spscope::gui {
namespace {

constexpr std::size_t kMostThemeBytes = 1 << 20;
constexpr int kLooks = 60, kBetweenLooksMs = 5;  // at the child that answers

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// What gsettings prints, "'prefer-dark'"; "" when it is not there, fails or takes too long.
std::string scheme_of_gnome() {
  if (!has_program("gsettings")) return {};
  const auto answer = capture([&] {
    Child child({"gsettings", "get", "org.gnome.desktop.interface", "color-scheme"});
    for (int i = 0; i < kLooks && !child.end(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kBetweenLooksMs));
      child.poll();
    }
    if (!child.end()) child.signal(SIGTERM);
    return child.end() && child.end()->code == 0 ? child.output() : std::string();
  });
  return answer ? *answer : std::string();
}

}  // namespace

std::optional<bool> dark_by_theme_name(std::string_view name) {
  if (name.empty()) return std::nullopt;
  return lower_case(name).find("dark") != std::string::npos;
}

std::optional<bool> dark_by_settings(std::string_view text) {
  std::optional<bool> by_name;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
    if (key == "gtk-application-prefer-dark-theme" && (value == "1" || lower_case(value) == "true")) return true;
    if ((key == "gtk-theme-name" || key == "ColorScheme") && !by_name) by_name = dark_by_theme_name(value);
  }
  return by_name;
}

std::optional<bool> desktop_is_dark(const std::string& folder) {
  if (const auto dark = dark_by_theme_name(gtk_theme())) return dark;
  const std::string scheme = scheme_of_gnome();
  if (scheme.find("prefer-dark") != std::string::npos) return true;
  if (scheme.find("prefer-light") != std::string::npos) return false;
  if (folder.empty()) return std::nullopt;
  for (const char* name : {"/gtk-4.0/settings.ini", "/gtk-3.0/settings.ini", "/kdeglobals"}) {
    RegularFile file(folder + name);
    const auto text = file.is_open() ? file.read(kMostThemeBytes) : std::nullopt;
    if (!text) continue;
    if (const auto dark = dark_by_settings(*text)) return dark;
  }
  return std::nullopt;
}

}  // namespace spscope::gui
