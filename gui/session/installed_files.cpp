#include "gui/session/installed_files.h"

#include <filesystem>

#include "backend/config/environment.h"

namespace spscope::gui {
namespace {

namespace fs = std::filesystem;

fs::path own_folder() {
  std::error_code fault;
  const fs::path self = fs::read_symlink("/proc/self/exe", fault);
  return fault ? fs::path() : self.parent_path();
}

std::string if_there(const fs::path& path) {
  std::error_code fault;
  return fs::exists(path, fault) ? path.lexically_normal().string() : "";
}

}  // namespace

std::string demo_path() { return if_there(own_folder() / "../share/spscope/demo.db"); }
std::string presets_folder() { return if_there(own_folder() / "../share/spscope/presets"); }
std::string spscope_program() {
  if (const std::string beside = if_there(own_folder() / "spscope"); !beside.empty()) return beside;
  return has_program("spscope") ? "spscope" : "";
}

}  // namespace spscope::gui
