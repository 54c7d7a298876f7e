#include "backend/config/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace spscope {

std::string default_scratch_folder() {
  for (const char* name : {"SLURM_TMPDIR", "TMPDIR"})
    if (const char* value = std::getenv(name); value && *value) return value;
  return "/tmp";
}

std::string home_folder() {
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? home : "";
}

std::string settings_folder() {
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder && *folder == '/') return folder;
  const std::string home = home_folder();
  return home.empty() ? "" : home + "/.config";
}

std::string gtk_theme() {
  const char* const theme = std::getenv("GTK_THEME");
  return theme != nullptr ? theme : "";
}

bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

bool started_beside_others() {
  if (!started_by_mpi()) return false;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})
    if (const char* value = std::getenv(name)) return std::atoi(value) > 1;
  return true;
}

bool first_of_others() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* value = std::getenv(name)) return std::atoi(value) == 0;
  return true;
}

bool terminal_is_dumb() {
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

bool colors_are_forbidden() {
  const char* const forbidden = std::getenv("NO_COLOR");
  return forbidden != nullptr && *forbidden != '\0';
}

int columns_asked_for() {
  const char* const columns = std::getenv("COLUMNS");
  return columns != nullptr ? std::max(0, std::atoi(columns)) : 0;
}

bool has_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access(((folder.empty() ? "." : folder) + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

int pretended_ranks_per_node() {
  const char* value = std::getenv("SPSCOPE_RANKS_PER_NODE");
  return value != nullptr ? std::max(0, std::atoi(value)) : 0;
}

double patience_seconds() {
  constexpr double kSeconds = 60;
  const char* value = std::getenv("SPSCOPE_PATIENCE_S");
  const double seconds = value != nullptr ? std::atof(value) : 0;
  return seconds > 0 ? seconds : kSeconds;
}

bool launches_wait() {
  const char* const value = std::getenv("CUDA_LAUNCH_BLOCKING");
  return value != nullptr && *value && std::string_view(value) != "0";
}

std::string visible_gpus() {
  const char* const value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? "" : value;
}

}  // namespace spscope
