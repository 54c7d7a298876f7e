#include "backend/cli/finish_output.h"

#include <poll.h>
#include <unistd.h>

#include <ostream>

#include "backend/base/error.h"

namespace spscope {
namespace {

// A reader that has seen enough, such as `head`, closes a pipe.
bool reader_has_gone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

}  // namespace

void finish_output(std::ostream& out) {
  if (!out.flush() && !reader_has_gone())
    throw Error(ErrorCode::kStoreWrite, "cannot write to standard output", "is its disk full?");
}

}  // namespace spscope
