#include "tests/fake_cuda/observed.h"

#include <algorithm>

#include "tests/fake_cuda/fake.h"

namespace spscope::fake_cuda {
namespace {

std::atomic<const FakeDriverObserver*> current_observer{nullptr};

}  // namespace

void observe_call(std::uint32_t callback) {
  const FakeDriverObserver* const observer = current_observer;
  if (observer == nullptr) return;
  observer->passed(callback, false);
  observer->passed(callback, true);
}

Observed::Observed(std::uint32_t callback, int kind, const CUstream_st& stream) : observer_(current_observer) {
  if (observer_ == nullptr) return;
  work.kind = kind;
  work.correlation = observer_->called(callback);
  work.device = static_cast<std::uint32_t>(stream.context->device);
  work.stream = static_cast<std::uint32_t>(stream.number);
}

void Observed::begin() {
  if (observer_ != nullptr) work.begin_ns = observer_->now_ns();
}

void Observed::end() {
  if (observer_ == nullptr) return;
  work.end_ns = observer_->now_ns();
  observer_->worked(&work);
}

extern "C" void spscope_fake_cuda_observe(const FakeDriverObserver* observer) { current_observer = observer; }

extern "C" bool spscope_fake_cuda_has_context() {
  FakeDriver& driver = fake();
  const std::lock_guard lock(driver.mutex);
  return std::ranges::any_of(driver.contexts, [](const auto& context) { return context->users > 0; });
}

}  // namespace spscope::fake_cuda
