#include "backend/base/random_id.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "backend/base/error.h"

namespace spscope {

RandomId random_id() {
  RandomId id;
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()))
    throw Error(ErrorCode::kInternal, fmt::format("no random bytes: {}", std::strerror(errno)));
  return id;
}

}  // namespace spscope
