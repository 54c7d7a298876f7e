// Switches of fibers by the x86-64 System V calling convention: a function keeps rbx, rbp, r12 to r15 and the stack
// pointer; the control words of the floating-point units are the same in all fibers of a thread.
#include "kernels/cuda/emulation/fiber.h"

#include <cstdint>

// void spscope_switch_stack(void** from (rdi), void* to (rsi)): pushes what is kept, leaves the stack pointer in *from,
// takes the other one and returns on that stack.
asm(R"(
.text
.p2align 4
.local spscope_switch_stack
.type spscope_switch_stack, @function
spscope_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size spscope_switch_stack, . - spscope_switch_stack
)");

extern "C" void spscope_switch_stack(void** from, void* to);

namespace spscope::kernels::cuda {

struct Fiber::Context {
  void* stack_pointer = nullptr;
};

Fiber::Fiber() : context_(std::make_unique<Context>()) {}
Fiber::~Fiber() = default;
Fiber::Fiber(Fiber&&) noexcept = default;
Fiber& Fiber::operator=(Fiber&&) noexcept = default;

void Fiber::start(void* stack, std::size_t num_bytes, void (*entry)()) {
  // The first switch pops six registers and returns to `entry`, which finds the stack as after a call: 8 bytes below a
  // multiple of 16, with an address of return (none).
  auto* top =
      reinterpret_cast<std::uintptr_t*>((reinterpret_cast<std::uintptr_t>(stack) + num_bytes) & ~std::uintptr_t{15});
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(entry);
  for (int i = 0; i < 6; ++i) *--top = 0;
  context_->stack_pointer = top;
}

void switch_fiber(Fiber& from, Fiber& to) {
  spscope_switch_stack(&from.context_->stack_pointer, to.context_->stack_pointer);
}

}  // namespace spscope::kernels::cuda
