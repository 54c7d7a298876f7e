// Switches of fibers by the contexts of the C library, for every processor that has them.
#include "kernels/cuda/emulation/fiber.h"

#include <ucontext.h>

namespace spscope::kernels::cuda {

struct Fiber::Context {
  ucontext_t registers;
};

Fiber::Fiber() : context_(std::make_unique<Context>()) {}
Fiber::~Fiber() = default;
Fiber::Fiber(Fiber&&) noexcept = default;
Fiber& Fiber::operator=(Fiber&&) noexcept = default;

void Fiber::start(void* stack, std::size_t num_bytes, void (*entry)()) {
  getcontext(&context_->registers);
  context_->registers.uc_stack.ss_sp = stack;
  context_->registers.uc_stack.ss_size = num_bytes;
  context_->registers.uc_link = nullptr;
  makecontext(&context_->registers, entry, 0);
}

void switch_fiber(Fiber& from, Fiber& to) { swapcontext(&from.context_->registers, &to.context_->registers); }

}  // namespace spscope::kernels::cuda
