// A collector without a GPU, in a build of the injection library of its own: threads that push kernels one after the
// other, each a microsecond long, as fast or slow as SPSCOPE_SCRIPT says: "threads=2 every_us=50 most=1000".
// With "calls=1" each was asked for by a call 2 us before it. How many were sent, dropped ones included, stands in the
// file $SPSCOPE_SCRIPT_COUNTS/PID, a number of 8 bytes for each thread, which stays behind when the process is killed:
// each is written after the records that it counts.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "backend/base/clock.h"
#include "collectors/inject/inject.h"

namespace spscope::inject {
namespace {

int setting(const char* name, int otherwise) {
  const char* const script = std::getenv("SPSCOPE_SCRIPT");
  const char* const found = script == nullptr ? nullptr : std::strstr(script, name);
  return found == nullptr ? otherwise : std::atoi(found + std::strlen(name));
}

std::atomic<std::uint64_t>* map_counts(int threads) {
  const char* const folder = std::getenv("SPSCOPE_SCRIPT_COUNTS");
  if (folder == nullptr) std::abort();
  const std::string path = std::string(folder) + "/" + std::to_string(::getpid());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::size_t bytes = sizeof(std::uint64_t) * static_cast<std::size_t>(threads);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) std::abort();
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) std::abort();
  ::close(fd);
  return static_cast<std::atomic<std::uint64_t>*>(memory);
}

class ScriptedCollector final : public Collector {
 public:
  ScriptedCollector(TraceSink& sink, const CollectedProcess& process) {
    const int threads = setting("threads=", 1);
    std::atomic<std::uint64_t>* const counts = map_counts(threads);
    for (int number = 0; number < threads; ++number) {
      const Track track = {.rank = process.rank,
                           .kind = TrackKind::kDeviceStream,
                           .name = "stream " + std::to_string(number),
                           .device = "GPU 0"};
      threads_.emplace_back([this, track, &sink, count = counts + number] { work(sink, track, *count); });
    }
  }
  ~ScriptedCollector() override { stop(); }

  void stop() override {
    stopping_ = true;
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }
  CollectorCost cost() const override { return {}; }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = {"a note of the script"};
    if (stopping_) notes.emplace_back("a note of its end");
    return notes;
  }

 private:
  void work(TraceSink& sink, const Track& track, std::atomic<std::uint64_t>& count) {
    EventRing& ring = sink.ring(track, 1 << 14);
    const NameId name = sink.name("kernel of " + track.name);
    const int most = setting("most=", 0), every_us = setting("every_us=", 100);
    const std::int64_t queued_ns = setting("calls=", 0) != 0 ? 2000 : 0;
    const Track host = {.rank = track.rank, .kind = TrackKind::kHostThread, .name = "calls of " + track.name};
    EventRing* const calls = queued_ns > 0 ? &sink.ring(host, 1 << 14) : nullptr;
    std::int64_t end_ns = 0;
    for (int i = 0; !stopping_ && (most == 0 || i < most); ++i) {
      WorkEvent event;
      event.span = {std::max(now_ns(), end_ns) + queued_ns, 0, -1, name, event_flags(EventCategory::kKernel)};
      event.span.end_ns = end_ns = event.span.begin_ns + 1000;
      event.correlation = static_cast<std::uint32_t>(i + 1);  // 0 is none
      event.detail = sink.detail({.grid = {i % 4 + 1, 1, 1}, .device = 0});
      if (calls != nullptr) {
        WorkEvent call = event;
        call.span = {event.span.begin_ns - queued_ns, event.span.begin_ns, -1, name, event_flags(EventCategory::kApi)};
        calls->push(RingRecord::of(call));
      }
      ring.push(RingRecord::of(event));
      count.fetch_add(1);
      if (every_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(every_us));
    }
  }

  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

std::unique_ptr<Collector> start_scripted(TraceSink& sink, const CollectedProcess& process) {
  return std::make_unique<ScriptedCollector>(sink, process);
}

constexpr InjectedCollector kRows[] = {{"scripted", start_scripted}};

}  // namespace

std::span<const InjectedCollector> injected_collectors() { return kRows; }

}  // namespace spscope::inject
