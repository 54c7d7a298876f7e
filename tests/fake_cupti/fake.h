// State of the fake CUPTI: who is subscribed, what is enabled, the buffer that is being written, counts.
#pragma once

#include <cupti.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_cupti/control.h"
#include "tests/fake_cupti/settings.h"

namespace spscope::fake_cupti {

// The records that CUPTI of each CUDA writes, by NVIDIA's headers; 11 is 11.7, 12 is 12.4 and 13 is 13.0.
#if SPSCOPE_FAKE_CUPTI == 11
inline constexpr std::uint32_t kVersion = 17;
using Kernel = CUpti_ActivityKernel7;
using Copy = CUpti_ActivityMemcpy5;
using Synchronization = CUpti_ActivitySynchronization;
using Overhead = CUpti_ActivityOverhead;
#elif SPSCOPE_FAKE_CUPTI == 12
inline constexpr std::uint32_t kVersion = 22;
using Kernel = CUpti_ActivityKernel9;
using Copy = CUpti_ActivityMemcpy5;
using Synchronization = CUpti_ActivitySynchronization;
using Overhead = CUpti_ActivityOverhead3;
#else
inline constexpr std::uint32_t kVersion = 130001;
using Kernel = CUpti_ActivityKernel10;
using Copy = CUpti_ActivityMemcpy6;
using Synchronization = CUpti_ActivitySynchronization2;
using Overhead = CUpti_ActivityOverhead3;
#endif
using PeerCopy = CUpti_ActivityMemcpyPtoP4;
using Memset = CUpti_ActivityMemset4;

struct Buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0, used = 0, last = 0;  // last: where its last record begins
  std::int64_t number = 0;                   // 1 is the first
};

struct State {
  Settings settings;
  bool subscribed = false;
  int process = 0;  // that subscribed
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  std::set<std::uint32_t> called_back;  // calls of the driver
  std::set<std::uint32_t> kinds;
  std::set<std::pair<int, std::uint32_t>> calls;  // domain and id
  bool buffer_for_each_thread = SPSCOPE_FAKE_CUPTI == 13;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc timestamp = nullptr;
  Buffer current;
  std::vector<Buffer> kept;                       // full ones in which something is at work
  std::map<std::uint32_t, std::int64_t> unended;  // correlations of what is at work, and the buffer it belongs to
  std::vector<std::uint32_t> unended_kernels;     // of FakeWork::unended
  std::vector<Buffer> late;
  std::int64_t num_made = 0, num_kernels = 0, num_buffers = 0, num_requests = 0;
  std::size_t num_dropped = 0;  // since it was last asked for
  std::uint32_t correlation = 0;
  std::int64_t driver_work[4] = {};  // by FakeDriverWork::Kind: that the fake driver told of
  std::string fault;
};
struct Fake : State {
  std::mutex mutex;               // held while callbacks run, as CUPTI holds locks of its own
  std::recursive_mutex of_calls;  // likewise while the program is called back, with settings.slow_ms
};

Fake& fake();
using Lock = std::lock_guard<std::mutex>;
using CallsLock = std::lock_guard<std::recursive_mutex>;
inline bool enabled(CUpti_ActivityKind kind) { return fake().kinds.contains(kind); }

// The planted result of a call; CUPTI_SUCCESS when it works.
CUptiResult planted(const std::string& call);
// Keeps the first fault.
void broke_rule(const std::string& rule);

// That this thread has pushed.
std::vector<std::uint64_t>& pushed_ids();

// The call of this thread that has the next correlation: its record, where such calls are recorded, and before it the
// number that the thread has pushed. CUPTI writes that number for a call that is recorded, and for no other.
void write_call(CUpti_ActivityKind domain, std::uint32_t id, std::uint32_t thread);

// Whether the fake CUDA driver of this process, if there is one, tells this CUPTI of its work.
void observe_driver(bool observe);
// Whether that driver has a context.
bool has_context();
// Appends what it told to the file that SPSCOPE_FAKE_CUPTI_REPORT names, as a line of JSON.
void report_driver_work();

// How long the records of a kind are; 0: it does not know the kind. REQUIRES: the mutex is held.
std::size_t record_bytes(std::uint32_t kind);
// One end of a range, by this thread. REQUIRES: the mutex is held.
void write_marker(CUpti_ActivityFlag flag, std::uint32_t id, const char* name, const char* domain);
// Into the current buffer, or counted as dropped.
void write(const void* record, std::size_t num_bytes);
// Gives buffers back: those in which all has ended, or all.
void complete_ended();
void complete_all();
// Kernels of FakeWork::unended that are still at work get a record without times.
void give_up_kernels();

template <typename Record>
void write(const Record& record) {
  write(&record, sizeof record);
}

}  // namespace spscope::fake_cupti
