// arc4random(), which the C++ library of portable programs (cmake/SpscopeTargets.cmake) calls in std::random_device,
// and which glibc has from 2.36 on: with one of their own they start on older systems. spscope itself draws no such
// numbers.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() {
  std::uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) std::abort();
  return number;
}
