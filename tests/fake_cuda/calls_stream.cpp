// Streams, events, and the values that streams write and wait for, of the fake CUDA driver.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/observed.h"

namespace spscope::fake_cuda {
namespace {

using Word = std::atomic_ref<std::uint32_t>;

std::shared_ptr<Queue> queue_for(FakeDriver& driver, int device, int number) {
  const auto seed = static_cast<unsigned>(driver.settings.jitter == 0 ? 0 : driver.settings.jitter + number);
  if (driver.settings.queues == 0) return Queue::start(seed);
  std::vector<std::shared_ptr<Queue>>& queues = driver.queues[device];
  while (static_cast<int>(queues.size()) < driver.settings.queues) queues.push_back(Queue::start(seed));
  return queues[static_cast<std::size_t>(number % driver.settings.queues)];
}

std::uint32_t& word_at(CUdeviceptr address, CUresult result, const char* what) {
  if (address % 4 != 0) throw Fault{CUDA_ERROR_INVALID_VALUE, fmt::format("{} of a word that is not aligned", what)};
  fake().allocations.holding(address, 4, result, what);
  return *reinterpret_cast<std::uint32_t*>(address);
}

std::function<void()> write_word(const char* what, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  if (flags != CU_STREAM_WRITE_VALUE_DEFAULT) throw Fault{CUDA_ERROR_NOT_SUPPORTED, "a word written with flags"};
  word_at(address, CUDA_ERROR_INVALID_VALUE, what);
  if (++fake().words == fake().settings.lost) return [] {};
  return [=] { Word(word_at(address, CUDA_ERROR_ILLEGAL_ADDRESS, what)).store(value); };
}

std::function<void()> wait_for_word(const char* what, CUctx_st& context, CUdeviceptr address, cuuint32_t value,
                                    unsigned flags) {
  if (flags != CU_STREAM_WAIT_VALUE_GEQ) throw Fault{CUDA_ERROR_NOT_SUPPORTED, "a wait for something else"};
  word_at(address, CUDA_ERROR_INVALID_VALUE, what);
  return [=, &context] {
    wait_until(context, [=] {
      const std::uint32_t found = Word(word_at(address, CUDA_ERROR_ILLEGAL_ADDRESS, what)).load();
      return static_cast<std::int32_t>(found - value) >= 0;
    });
  };
}

std::shared_ptr<Record> last_record(CUevent handle) {
  CUevent_st& event = made(handle);
  const std::lock_guard lock(fake().mutex);
  return event.last;
}

void wait_done(const CUctx_st& context, Record& record) {
  std::unique_lock lock(record.mutex);
  while (!record.done) {
    require_sound(context);
    record.reached.wait_for(lock, std::chrono::milliseconds(5));
  }
}

double time_of(CUevent handle) {
  if (!made(handle).timed) throw Fault{CUDA_ERROR_INVALID_HANDLE, "the time of an event without timing"};
  const std::shared_ptr<Record> record = last_record(handle);
  if (record == nullptr) throw Fault{CUDA_ERROR_INVALID_HANDLE, "the time of an event that was not recorded"};
  const std::lock_guard lock(record->mutex);
  if (!record->done) throw Fault{CUDA_ERROR_NOT_READY, ""};
  return record->time_ns;
}

}  // namespace

extern "C" {

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call([&] {
    current_context();
    *least = 0, *greatest = -5;
  });
}

CUresult cuStreamCreateWithPriority(CUstream* created, unsigned flags, int priority) {
  return call([&] {
    CUctx_st& context = current_context();
    if (flags != CU_STREAM_NON_BLOCKING)
      throw Fault{CUDA_ERROR_NOT_SUPPORTED, "a stream that waits for the default stream"};
    FakeDriver& driver = fake();
    const std::lock_guard lock(driver.mutex);
    auto stream = std::make_unique<CUstream_st>();
    stream->context = &context;
    stream->number = static_cast<int>(driver.streams.size()) + 1;
    stream->priority = priority;
    stream->queue = queue_for(driver, context.device, stream->number);
    *created = stream.get();
    driver.streams.push_back(std::move(stream));
  });
}

CUresult cuStreamDestroy(CUstream handle) {
  return call([&] {
    CUstream_st& stream = made(handle);
    stream.destroyed = true;
    if (fake().settings.queues == 0) stream.queue->close();
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return call([&] {
    if (!is_idle(made(handle))) throw Fault{CUDA_ERROR_NOT_READY, ""};
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return call([&] {
    CUstream_st& stream = made(handle);
    Observed observed(kStreamSynchronizeCall, FakeDriverWork::kSynchronize, stream);
    observed.begin();
    wait_for(stream);
    observed.end();
    fake().allocations.check_guards();
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  return call([&] {
    CUstream_st& stream = made(handle);
    const std::shared_ptr<Record> record = last_record(event);
    if (record == nullptr) return;
    enqueue(stream, [&stream, record] {
      wait_done(*stream.context, *record);
      stream.planted_ns = std::max(stream.planted_ns, record->time_ns);
    });
  });
}

CUresult cuStreamWaitValue32(CUstream handle, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return call([&] {
    CUstream_st& stream = made(handle);
    enqueue(stream, wait_for_word("cuStreamWaitValue32", *stream.context, address, value, flags));
  });
}

CUresult cuStreamBatchMemOp(CUstream handle, unsigned count, CUstreamBatchMemOpParams* words, unsigned flags) {
  return call([&] {
    constexpr const char* kCall = "cuStreamBatchMemOp";
    CUstream_st& stream = made(handle);
    if (count == 0 || count > 256 || flags != 0) throw Fault{CUDA_ERROR_INVALID_VALUE, kCall};
    ++fake().word_calls;
    std::vector<std::function<void()>> work;
    for (const CUstreamBatchMemOpParams& word : std::span(words, count)) {
      if (word.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
        work.push_back(write_word(kCall, word.writeValue.address, word.writeValue.value, word.writeValue.flags));
      else if (word.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32)
        work.push_back(
            wait_for_word(kCall, *stream.context, word.waitValue.address, word.waitValue.value, word.waitValue.flags));
      else
        throw Fault{CUDA_ERROR_NOT_SUPPORTED, "cuStreamBatchMemOp of something else"};
    }
    enqueue(stream, [work] {
      for (const auto& step : work) step();
    });
  });
}

CUresult cuEventCreate(CUevent* created, unsigned flags) {
  return call([&] {
    auto event = std::make_unique<CUevent_st>();
    event->context = &current_context();
    event->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    *created = event.get();
    const std::lock_guard lock(fake().mutex);
    fake().events.push_back(std::move(event));
  });
}

CUresult cuEventDestroy(CUevent handle) {
  return call([&] { made(handle).destroyed = true; });
}

CUresult cuEventRecord(CUevent handle, CUstream into) {
  return call([&] {
    CUevent_st& event = made(handle);
    CUstream_st& stream = made(into);
    if (event.context != stream.context)
      throw Fault{CUDA_ERROR_INVALID_HANDLE, "an event is recorded in a stream of another device"};
    const auto record = std::make_shared<Record>();
    {
      const std::lock_guard lock(fake().mutex);
      event.last = record;
    }
    enqueue(stream, [record] {
      const std::lock_guard lock(record->mutex);
      record->time_ns = now_ns();
      record->done = true;
      record->reached.notify_all();
    });
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return call([&] {
    if (const std::shared_ptr<Record> record = last_record(handle)) wait_done(*made(handle).context, *record);
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return call([&] {
    {
      const std::lock_guard lock(fake().mutex);
      if (fake().settings.unready > 0 && fake().settings.unready-- > 0) throw Fault{CUDA_ERROR_NOT_READY, ""};
    }
    *milliseconds = static_cast<float>((time_of(end) - time_of(begin)) / 1e6);
  });
}

}  // extern "C"

}  // namespace spscope::fake_cuda
