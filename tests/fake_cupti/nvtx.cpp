// What a program's NVTX gets from CUPTI: functions for push and pop ranges, in domains or not, each of which writes a
// record while a session wants them. As NVIDIA's: the functions are there at once, whatever is enabled; from CUDA 13.0
// update 1 on they are given only where there is a driver.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "tests/fake_cupti/fake.h"

namespace spscope::fake_cupti {

void write_marker(CUpti_ActivityFlag flag, std::uint32_t id, const char* name, const char* domain) {
  if (!enabled(CUPTI_ACTIVITY_KIND_MARKER)) return;
  // A lock of CUPTI's may have been held when the process forked.
  if (getpid() != fake().process) std::abort();
  CUpti_ActivityMarker2 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = flag;
  record.timestamp = fake().timestamp();
  record.id = id;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<std::uint32_t>(getpid());
  record.objectId.pt.threadId = static_cast<std::uint32_t>(syscall(SYS_gettid));
  record.name = name;
  record.domain = domain;
  write(record);
}

namespace {

// Records point to them.
const char* kept_text(const char* text) {
  static std::set<std::string>* const texts = std::make_unique<std::set<std::string>>().release();
  return text == nullptr ? nullptr : texts->insert(text).first->c_str();
}

// Numbers of the ranges of this thread that are open.
std::vector<std::uint32_t>& open_ranges() {
  thread_local std::vector<std::uint32_t> ranges;
  return ranges;
}

int push(const char* domain, const char* name) {
  const Lock lock(fake().mutex);
  static std::uint32_t newest = 0;
  open_ranges().push_back(++newest);
  write_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, newest, kept_text(name), domain);
  return static_cast<int>(open_ranges().size()) - 1;
}

int pop(const char* domain) {
  const Lock lock(fake().mutex);
  if (open_ranges().empty()) return NVTX_NO_PUSH_POP_TRACKING;
  const std::uint32_t id = open_ranges().back();
  open_ranges().pop_back();
  write_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, id, nullptr, domain);
  return static_cast<int>(open_ranges().size());
}

const char* name_of(nvtxDomainHandle_t domain) { return reinterpret_cast<const char*>(domain); }

int NVTX_API push_range(const char* name) { return push(nullptr, name); }
int NVTX_API pop_range() { return pop(nullptr); }

nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  const Lock lock(fake().mutex);
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<char*>(kept_text(name)));
}
int NVTX_API push_in_domain(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  return push(name_of(domain), range->message.ascii);
}
int NVTX_API pop_in_domain(nvtxDomainHandle_t domain) { return pop(name_of(domain)); }

template <typename Function>
void set(NvtxFunctionTable table, int number, Function* function) {
  *table[number] = reinterpret_cast<NvtxFunctionPointer>(function);
}

bool has_driver() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr; }

}  // namespace

extern "C" {

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  std::uint32_t version = 0;
  cuptiGetVersion(&version);
  constexpr std::uint32_t kVersion13_0 = 130000;
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core = nullptr, domains = nullptr;
  unsigned number = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &number) == 0 ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains, &number) == 0)
    return 0;
  const Lock lock(fake().mutex);
  const bool starts_cupti = version > kVersion13_0 && !fake().subscribed;
  if (starts_cupti && !has_driver()) return 1;
  set(core, NVTX_CBID_CORE_RangePushA, push_range);
  set(core, NVTX_CBID_CORE_RangePop, pop_range);
  set(domains, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(domains, NVTX_CBID_CORE2_DomainRangePushEx, push_in_domain);
  set(domains, NVTX_CBID_CORE2_DomainRangePop, pop_in_domain);
  return 1;
}

}  // extern "C"

}  // namespace spscope::fake_cupti
