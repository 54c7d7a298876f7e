// Connection: of a program to the `spscope attach` that started it, and the memory that it got from there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "backend/record/shared_trace.h"

namespace spscope::inject {

// A descriptor with what it leads to. A program may close descriptors that it does not know, as daemons and sandboxes
// do, and get their numbers anew: each use of the number asks is_ours() first.
class OwnDescriptor {
 public:
  // -1: none, which is nobody's.
  explicit OwnDescriptor(int number);

  bool is_ours() const { return leads_to(device_, inode_); }
  bool leads_to(dev_t device, ino_t inode) const;
  int number() const { return number_; }
  void close() const;

 private:
  int number_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

class Connection {
 public:
  // Asks for memory. Nothing when this process was not started by `spscope attach`, or it is no longer there, is of
  // another version or user, or does not answer.
  static std::optional<Connection> open();

  SharedTrace& memory() const { return *memory_; }
  // Waits so long at most, or until the other side wakes this process, and says whether it is gone, close() was called
  // by another thread, or the program closed the descriptor.
  bool wait_for_end(int most_ms) const;
  // Says that this process leaves no more.
  void close() const;
  // In the child of a fork: the memory becomes one of the child's own, so that whatever still writes there harms
  // nobody, and the connection is the parent's alone. Calls only what a child of threads may.
  void leave_to_parent() const;

 private:
  Connection(const OwnDescriptor& socket, SharedTrace* memory) : socket_(socket), memory_(memory) {}

  OwnDescriptor socket_;
  SharedTrace* memory_;
};

}  // namespace spscope::inject
