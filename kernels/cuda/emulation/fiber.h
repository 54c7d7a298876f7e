// Fibers: stacks that one host thread switches between, for the threads of an emulated block. A switch saves what the
// calling convention asks a function to keep, which takes a few nanoseconds (x86_64/fiber.cpp); other processors use
// the C library's contexts (ucontext/fiber.cpp), a hundred times slower.
#pragma once

#include <cstddef>
#include <memory>

namespace spscope::kernels::cuda {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) noexcept;

  // The next switch to the fiber begins `entry` on this stack. `entry` never returns.
  void start(void* stack, std::size_t num_bytes, void (*entry)());

  // Leaves the calling fiber, which continues when something switches to it.
  friend void switch_fiber(Fiber& from, Fiber& to);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

void switch_fiber(Fiber& from, Fiber& to);

}  // namespace spscope::kernels::cuda
