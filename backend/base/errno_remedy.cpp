#include "backend/base/errno_remedy.h"

#include <cerrno>

namespace spscope {

std::string remedy_of(int error, const std::string& otherwise) {
  switch (error) {
    case EMFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENFILE:
      return "raise the system's limit of open files (fs.file-max)";
    case EFBIG:
      return "raise the limit of the size of files (ulimit -f)";
    case ENOMEM:
      return "free memory, or raise the limit of address space (ulimit -v)";
    case EAGAIN:
      return "raise the limit of locked memory (ulimit -l)";
    default:
      return otherwise;
  }
}

}  // namespace spscope
