#include "backend/base/own_files.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace spscope {

bool is_own_folder(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

std::optional<std::string> make_own_folder(const std::string& beginning) {
  std::string path = beginning + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return std::nullopt;
  return path;
}

void remove_own_folder(const std::string& path) {
  std::error_code ignored;
  if (is_own_folder(path)) std::filesystem::remove_all(path, ignored);
}

bool names_file(const std::string& path, int descriptor) {
  struct stat opened = {}, named = {};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace spscope
