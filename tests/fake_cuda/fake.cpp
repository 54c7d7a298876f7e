#include "tests/fake_cuda/fake.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "tests/fake_cuda/control.h"

namespace spscope::fake_cuda {
namespace {

// `contexts`: those of at least so many devices, of which settings may show fewer.
std::unique_ptr<FakeDriver> make_driver(std::string_view settings, std::size_t contexts = 0) {
  auto driver = std::make_unique<FakeDriver>(read_settings(settings));
  contexts = std::max(contexts, static_cast<std::size_t>(driver->settings.devices));
  for (int device = 0; device < static_cast<int>(contexts); ++device)
    driver->contexts.push_back(make_context(*driver, device));
  return driver;
}

// Threads of streams may outlive everything else, so that no driver is ever destroyed.
std::atomic<FakeDriver*>& current_driver() {
  static std::atomic<FakeDriver*> driver = [] {
    const char* const settings = std::getenv("SPSCOPE_FAKE_CUDA");
    return make_driver(settings == nullptr ? "" : settings).release();
  }();
  return driver;
}

}  // namespace

std::unique_ptr<CUctx_st> make_context(FakeDriver& driver, int device) {
  auto context = std::make_unique<CUctx_st>();
  context->driver = &driver;
  context->device = device;
  return context;
}

FakeDriver& fake() { return *current_driver(); }

void start_again(std::string_view settings) {
  FakeDriver& before = fake();
  for (const auto& context : before.contexts) {
    int none = CUDA_SUCCESS;
    context->failed.compare_exchange_strong(none, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  }
  auto after = make_driver(settings, before.contexts.size());
  after->initialised = before.initialised.load();
  after->before = &before;
  // Who retained a context before releases it after.
  for (std::size_t i = 0; i < before.contexts.size(); ++i) after->contexts[i]->users = before.contexts[i]->users;
  current_driver() = after.release();
}

void report(const Fault& fault) {
  if (fault.words.empty()) return;
  FakeDriver& driver = fake();
  const std::lock_guard lock(driver.mutex);
  if (!driver.fault.empty()) return;
  driver.fault = fault.words;
  std::cerr << "fake CUDA driver: " + fault.words + "\n";
}

// The words stand before any call can return the failure.
void fail(CUctx_st& context, const Fault& fault) {
  int none = CUDA_SUCCESS;
  if (context.failed.load() == none) report(fault);
  context.failed.compare_exchange_strong(none, fault.result);
}

void require_sound(const CUctx_st& context) {
  if (const int failed = context.failed.load(); failed != CUDA_SUCCESS) throw Fault{static_cast<CUresult>(failed), ""};
}

std::vector<CUctx_st*>& context_stack() {
  thread_local std::vector<CUctx_st*> stack;
  return stack;
}

CUctx_st& current_context() {
  if (context_stack().empty()) throw Fault{CUDA_ERROR_INVALID_CONTEXT, "a call without a current context"};
  require_sound(*context_stack().back());
  return *context_stack().back();
}

CUresult call(const std::function<void()>& work) {
  try {
    if (!fake().initialised) throw Fault{CUDA_ERROR_NOT_INITIALIZED, "a call before cuInit()"};
    work();
    return CUDA_SUCCESS;
  } catch (const Fault& fault) {
    report(fault);
    return fault.result;
  }
}

}  // namespace spscope::fake_cuda

void spscope_fake_cuda_reset(const char* settings) { spscope::fake_cuda::start_again(settings); }

// Written once, so that the words stay where they are.
const char* spscope_fake_cuda_fault() {
  spscope::fake_cuda::FakeDriver& driver = spscope::fake_cuda::fake();
  const std::lock_guard lock(driver.mutex);
  return driver.fault.c_str();
}

long long spscope_fake_cuda_count(const char* what) {
  spscope::fake_cuda::FakeDriver& driver = spscope::fake_cuda::fake();
  const std::lock_guard lock(driver.mutex);
  const std::string_view of = what;
  if (of == "contexts") return driver.contexts_made;
  if (of == "modules") return std::ssize(driver.modules);
  if (of == "words") return driver.words;
  if (of == "calls for words") return driver.word_calls;
  if (of == "urgent streams")
    return std::ranges::count_if(driver.streams, [](const auto& s) { return s->priority < 0; });
  if (of == "made") return driver.allocations.made() + std::ssize(driver.streams) + std::ssize(driver.events);
  long long launches = 0;
  for (const auto& [kernel, times] : driver.launches) launches += times;
  return launches;
}

long long spscope_fake_cuda_launches_of(const char* kernel, unsigned blocks) {
  spscope::fake_cuda::FakeDriver& driver = spscope::fake_cuda::fake();
  const std::lock_guard lock(driver.mutex);
  return driver.launches[{kernel, blocks}];
}

long long spscope_fake_cuda_enqueued(long long* most) {
  spscope::fake_cuda::FakeDriver& driver = spscope::fake_cuda::fake();
  const std::lock_guard lock(driver.mutex);
  long long all = 0;
  *most = 0;
  for (const auto& [thread, calls] : driver.enqueued) all += calls, *most = std::max(*most, calls);
  return all;
}
