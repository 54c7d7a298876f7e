// A file in the scratch folder that goes away with this object.
#pragma once

#include <string>

namespace spscope {

class ScratchFile {
 public:
  // A new folder of our own in `folder`, or in the default one (environment.h) when it is "".
  // Throws Error(kOutputPlace) when the folder cannot be used.
  explicit ScratchFile(const std::string& folder);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // A path that nothing uses yet.
  std::string path() const { return folder_ + "/run.db"; }

 private:
  std::string folder_;
};

}  // namespace spscope
