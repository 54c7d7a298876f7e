#include "collectors/inject/own_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace spscope::inject {
namespace {

TEST(OwnDescriptor, ANumberThatLeadsElsewhereIsNeverTouched) {
  int pipe[2], other[2];
  ASSERT_EQ(::pipe(pipe) + ::pipe(other), 0);
  const OwnDescriptor own(pipe[1]);
  const auto write = [](int number) { return ::write(number, "x", 1); };
  EXPECT_EQ(own.use(write), 1);
  ASSERT_EQ(::dup2(other[1], pipe[1]), pipe[1]);
  errno = 0;
  EXPECT_EQ(own.use(write), -1);
  EXPECT_EQ(errno, EBADF);
  own.close();
  EXPECT_EQ(write(pipe[1]), 1) << "it was closed";
  for (const int number : {pipe[0], pipe[1], other[0], other[1]}) ::close(number);
  EXPECT_EQ(OwnDescriptor(-1).use(write), -1);
}

}  // namespace
}  // namespace spscope::inject
