#include "tests/fake_cuda/queue.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "tests/fake_cuda/fake.h"

namespace spscope::fake_cuda {

using namespace std::chrono_literals;

std::shared_ptr<Queue> Queue::start(unsigned jitter_seed) {
  auto queue = std::make_shared<Queue>();
  std::thread([queue, jitter_seed] { queue->work(jitter_seed); }).detach();
  return queue;
}

void Queue::push(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  changed_.notify_one();
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

void Queue::work(unsigned jitter_seed) {
  std::minstd_rand random(jitter_seed);
  while (true) {
    std::function<void()> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (jitter_seed != 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    next();
  }
}

namespace {

CUstream_st*& running() {
  thread_local CUstream_st* stream = nullptr;
  return stream;
}

void run_in(CUstream_st& stream, const std::function<void()>& work) {
  CUctx_st& context = *stream.context;
  if (context.failed.load() != CUDA_SUCCESS) return;
  running() = &stream;
  try {
    work();
  } catch (const Fault& fault) {
    fail(context, fault);
  }
}

}  // namespace

void enqueue(CUstream_st& stream, std::function<void()> work) {
  FakeDriver& driver = *stream.context->driver;
  {
    const std::lock_guard lock(driver.mutex);
    ++driver.enqueued[std::this_thread::get_id()];
  }
  {
    const std::lock_guard lock(stream.mutex);
    ++stream.num_enqueued;
  }
  stream.queue->push([&stream, work = std::move(work)] {
    run_in(stream, work);
    const std::lock_guard lock(stream.mutex);
    ++stream.num_ended;
    stream.ended.notify_all();
  });
}

void wait_for(CUstream_st& stream) {
  std::unique_lock lock(stream.mutex);
  const std::int64_t target = stream.num_enqueued;
  while (stream.num_ended < target) {
    require_sound(*stream.context);
    stream.ended.wait_for(lock, 5ms);
  }
  require_sound(*stream.context);
}

bool is_idle(CUstream_st& stream) {
  const std::lock_guard lock(stream.mutex);
  return stream.num_ended == stream.num_enqueued;
}

void wait_for_all(CUctx_st& context) {
  std::vector<CUstream_st*> streams;
  {
    const std::lock_guard lock(context.driver->mutex);
    for (const auto& stream : context.driver->streams)
      if (stream->context == &context) streams.push_back(stream.get());
  }
  for (CUstream_st* const stream : streams) wait_for(*stream);
}

void wait_until(const CUctx_st& context, const std::function<bool()>& reached) {
  for (auto pause = 5us; !reached(); pause = std::min(2 * pause, 500us)) {
    require_sound(context);
    std::this_thread::sleep_for(pause);
  }
}

CUstream_st& running_stream() { return *running(); }

void stretch(std::chrono::steady_clock::time_point begin) {
  const int times = running_stream().context->driver->settings.slow;
  if (times > 1) std::this_thread::sleep_for((times - 1) * (std::chrono::steady_clock::now() - begin));
}

double now_ns() {
  if (running_stream().context->driver->settings.planted_times) return running_stream().planted_ns;
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace spscope::fake_cuda
