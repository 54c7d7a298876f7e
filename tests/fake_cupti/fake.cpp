#include "tests/fake_cupti/fake.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace spscope::fake_cupti {

Fake& fake() {
  static Fake* const state = [] {
    auto made = std::make_unique<Fake>();
    for (const std::string& of : {std::string(), "_" + std::to_string(SPSCOPE_FAKE_CUPTI)})
      if (const char* const settings = std::getenv(("SPSCOPE_FAKE_CUPTI" + of).c_str()))
        made->settings = read_settings(settings);
    return made.release();  // callbacks may come while the process ends
  }();
  return *state;
}

std::vector<std::uint64_t>& pushed_ids() {
  thread_local std::vector<std::uint64_t> ids;
  return ids;
}

CUptiResult planted(const std::string& call) {
  const auto found = fake().settings.failures.find(call);
  return found == fake().settings.failures.end() ? CUPTI_SUCCESS : static_cast<CUptiResult>(found->second);
}

void broke_rule(const std::string& rule) {
  if (fake().fault.empty()) fake().fault = rule;
}

std::size_t record_bytes(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(Copy);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(Memset);
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return fake().settings.kernel_bytes != 0 ? static_cast<std::size_t>(fake().settings.kernel_bytes)
                                               : sizeof(Kernel);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(Overhead);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(PeerCopy);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(Synchronization);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    default:
      return 0;
  }
}

namespace {

bool has_ended(const Buffer& buffer) {
  return std::ranges::none_of(fake().unended, [&](const auto& work) { return work.second == buffer.number; });
}

void complete(const Buffer& full) {
  Fake& f = fake();
  ++f.num_buffers;
  if (f.settings.damage > 0 && full.used > 0 && f.num_buffers % f.settings.damage == 0) {
    const std::uint32_t no_kind = 7777;
    std::memcpy(full.bytes + full.last, &no_kind, sizeof no_kind);
  }
  if (f.complete != nullptr) f.complete(nullptr, 0, full.bytes, full.size, full.used);
}

// Of those that are kept.
template <typename Condition>
void complete_if(const Condition& condition) {
  std::vector<Buffer> rest;
  for (const Buffer& buffer : std::exchange(fake().kept, {})) {
    if (condition(buffer))
      complete(buffer);
    else
      rest.push_back(buffer);
  }
  fake().kept = std::move(rest);
}

}  // namespace

void write(const void* record, std::size_t num_bytes) {
  Fake& f = fake();
  ++f.num_made;
  if (f.settings.drop > 0 && f.num_made % f.settings.drop == 0) {
    ++f.num_dropped;
    return;
  }
  if (f.current.bytes != nullptr && f.current.size - f.current.used < num_bytes) {
    f.kept.push_back(std::exchange(f.current, {}));
    complete_if(has_ended);
  }
  if (f.current.bytes == nullptr) {
    std::size_t max_records = 0;
    f.current = {};
    f.current.number = ++f.num_requests;
    f.request(&f.current.bytes, &f.current.size, &max_records);
    if (reinterpret_cast<std::uintptr_t>(f.current.bytes) % 8 != 0) broke_rule("a buffer is not aligned to 8 bytes");
  }
  if (f.current.bytes == nullptr || f.current.size < num_bytes) {
    ++f.num_dropped;
    return;
  }
  f.current.last = f.current.used;
  std::memcpy(f.current.bytes + f.current.used, record, num_bytes);
  f.current.used += num_bytes;
}

void complete_ended() {
  Fake& f = fake();
  if (f.current.bytes != nullptr && has_ended(f.current)) f.kept.push_back(std::exchange(f.current, {}));
  complete_if(has_ended);
}

void complete_all() {
  Fake& f = fake();
  if (f.current.bytes != nullptr) f.kept.push_back(std::exchange(f.current, {}));
  complete_if([](const Buffer&) { return true; });
}

void write_call(CUpti_ActivityKind domain, std::uint32_t id, std::uint32_t thread) {
  Fake& f = fake();
  ++f.correlation;
  if (!f.kinds.contains(domain) && !f.calls.contains({domain, id})) return;
  if (!pushed_ids().empty() && f.kinds.contains(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
    CUpti_ActivityExternalCorrelation record = {};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    record.externalId = pushed_ids().back();
    record.correlationId = f.correlation;
    write(record);
  }
  CUpti_ActivityAPI record = {};
  record.kind = domain;
  record.cbid = id;
  record.start = f.timestamp();
  record.end = record.start + 5;
  record.processId = static_cast<std::uint32_t>(getpid());
  record.threadId = thread;
  record.correlationId = f.correlation;
  write(record);
}

}  // namespace spscope::fake_cupti
