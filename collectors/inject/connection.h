// Connection: of a program to the `spscope attach` that started it, and the memory that it got from there.
#pragma once

#include <optional>
#include <string>

#include "backend/record/shared_trace.h"
#include "collectors/inject/own_descriptor.h"

namespace spscope::inject {

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
