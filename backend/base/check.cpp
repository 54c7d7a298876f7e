#include "backend/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace spscope {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr,
               "%s:%d: check failed: %s\nThis is a defect of spscope; please report it with the command you ran.\n",
               file, line, condition);
  std::abort();
}

}  // namespace spscope
