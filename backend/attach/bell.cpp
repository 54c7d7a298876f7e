#include "backend/attach/bell.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "backend/base/errno_remedy.h"
#include "backend/base/error.h"

namespace spscope {

Bell::Bell() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const int error = errno;
  if (descriptor_ < 0)
    throw Error(ErrorCode::kLaunch,
                fmt::format("attach could make no descriptor for its threads: {}", std::strerror(error)),
                remedy_of(error));
}

Bell::~Bell() { ::close(descriptor_); }

void Bell::ring() const noexcept { static_cast<void>(::eventfd_write(descriptor_, 1)); }

void Bell::hush() const noexcept {
  eventfd_t rings = 0;
  static_cast<void>(::eventfd_read(descriptor_, &rings));
}

}  // namespace spscope
