// OwnDescriptor: a descriptor with what it leads to. A program may close descriptors that it does not know, as daemons
// and sandboxes do, and get their numbers anew. So nothing here gives the number away: each use of it goes through
// use(), which looks first whether the number still leads there.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

namespace spscope::inject {

class OwnDescriptor {
 public:
  // What the number leads to now. -1: none, which is nobody's.
  explicit OwnDescriptor(int number) : number_(number) {
    struct stat of = {};
    if (number < 0 || ::fstat(number, &of) != 0) return;
    device_ = of.st_dev;
    inode_ = of.st_ino;
  }

  bool exists() const { return number_ >= 0; }
  bool leads_to(dev_t device, ino_t inode) const { return exists() && device_ == device && inode_ == inode; }
  // What the call gives that gets the number; -1 with EBADF where the number leads to something else by now.
  template <typename Call>
  auto use(Call&& call) const -> decltype(call(0)) {
    struct stat now = {};
    if (exists() && ::fstat(number_, &now) == 0 && leads_to(now.st_dev, now.st_ino)) return call(number_);
    errno = EBADF;
    return -1;
  }
  // Leaves errno as it is.
  void close() const {
    const int error = errno;
    use([](int number) { return ::close(number); });
    errno = error;
  }
  // The first descriptors are the program's, also where it has closed them: it goes on to read and write there. One of
  // these is given up for another; -1 with the errno of fcntl(): there is none.
  OwnDescriptor above_standard() const {
    if (number_ > STDERR_FILENO || !exists()) return *this;
    const OwnDescriptor above(use([](int number) { return ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); }));
    close();
    return above;
  }

 private:
  int number_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace spscope::inject
