// FakeLibrary: a library that stands in for one of NVIDIA's, and the calls by which tests steer it (control.h of each
// fake). They are found by name: several fakes of one kind are in one process, and programs link none of them.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

#include "backend/base/error.h"

namespace spscope {

class FakeLibrary {
 public:
  // A path, or a name that the loader finds. It stays open: a fake may have threads. Throws Error.
  explicit FakeLibrary(std::string path) : path_(std::move(path)), library_(dlopen(path_.c_str(), RTLD_NOW)) {
    if (library_ == nullptr) throw Error(ErrorCode::kCannotCollect, dlerror(), kHint);
  }
  const std::string& path() const { return path_; }

  // As call<decltype(spscope_fake_cuda_reset)>("spscope_fake_cuda_reset"). Throws Error: it has none of this name.
  template <typename Function>
  Function* call(const char* name) const {
    void* const function = dlsym(library_, name);
    if (function == nullptr)
      throw Error(ErrorCode::kCannotCollect, path_ + " has no " + name + ": it is not the fake of the tests", kHint);
    return reinterpret_cast<Function*>(function);
  }

 private:
  static constexpr const char* kHint = "build the targets of the folders tests/fake_*, and name theirs";
  std::string path_;
  void* library_;
};

}  // namespace spscope
