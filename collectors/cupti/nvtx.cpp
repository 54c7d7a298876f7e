#include "collectors/cupti/nvtx.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backend/base/result.h"

namespace spscope::cupti {
namespace {

enum class Phase : std::uint8_t { kBeforeSession, kRecords, kOver };

struct Module {
  NvtxTables tables = nullptr;
  Module* before = nullptr;
};

std::atomic<Phase> phase{Phase::kBeforeSession};
std::atomic<bool> is_child{false};  // of a process in which modules had functions

struct Shared {
  std::mutex mutex;                 // of what follows; held while the process forks
  Module* newest_module = nullptr;  // of those with functions, which are never forgotten
  std::optional<Library> library;   // whose functions modules get
  std::vector<std::string> notes;
};

Shared& shared() {
  static Shared* const state = std::make_unique<Shared>().release();  // modules may ask while the process ends
  return *state;
}

void note(const Error& error) {
  std::string text = note_of("NVTX ranges", error);
  const std::lock_guard lock(shared().mutex);
  if (std::ranges::find(shared().notes, text) == shared().notes.end()) shared().notes.push_back(std::move(text));
}

// -- the child of a fork

// NvtxExportTableCallbacks of NVTX's headers, the table with this number.
struct CallbackTable {
  std::size_t struct_bytes;
  int (*functions_of)(int module, void**** functions, unsigned* number);
};
constexpr std::uint32_t kCallbackTable = 1;
constexpr int kNumParts = 6;  // of NVTX: core, CUDA, OpenCL, CUDA runtime, domains, synchronisation

#ifdef __clang__
[[clang::no_sanitize("function")]]  // which part is an enum of NVTX's
#endif
void take_from(NvtxTables tables) {
  const auto* const callbacks = static_cast<const CallbackTable*>(tables(kCallbackTable));
  if (callbacks == nullptr || callbacks->struct_bytes < sizeof *callbacks) return;
  for (int part = 1; part <= kNumParts; ++part) {
    void*** functions = nullptr;
    unsigned number = 0;
    if (callbacks->functions_of(part, &functions, &number) == 0) continue;
    for (unsigned i = 0; i < number; ++i)
      if (functions[i] != nullptr) *functions[i] = nullptr;
  }
}

void leave_to_parent() {
  const Module* const newest = shared().newest_module;
  if (newest != nullptr && !is_child.exchange(true))
    for (const Module* module = newest; module != nullptr; module = module->before) take_from(module->tables);
  shared().mutex.unlock();
}

void follow_forks() {
  static const int once =
      ::pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); }, leave_to_parent);
  static_cast<void>(once);
}

// A module that is unloaded would take its functions with it, which leave_to_parent() writes to: it stays.
bool stays_mapped(NvtxTables tables) {
  Dl_info file = {};
  link_map* module = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(tables), &file, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0)
    return false;
  const bool is_program = *module->l_name == '\0';
  return is_program || dlopen(module->l_name, RTLD_LAZY | RTLD_NOLOAD) != nullptr;
}

// Before the module has functions of this library. False: a session of another one has begun meanwhile.
bool remember(NvtxTables tables, const Library& library) {
  const std::lock_guard lock(shared().mutex);
  if (shared().library->handle != library.handle) return false;
  shared().newest_module = std::make_unique<Module>(Module{tables, shared().newest_module}).release();
  return true;
}

// -- giving

// Throws Error (kCannotCollect).
Library library_for_nvtx() {
  {
    const std::lock_guard lock(shared().mutex);
    if (shared().library) return *shared().library;
  }
  const std::vector<std::string> candidates = libraries_of_program();
  LibrarySearch search(candidates);
  const std::optional<Library> found = search.next();
  if (!found)
    throw Error(ErrorCode::kCannotCollect,
                candidates.empty() ? "the first ones came before the program had loaded CUDA" : search.none().what(),
                "let the program load CUDA (`import torch`), or start it, before its first range: NVTX asks only then");
  const std::lock_guard lock(shared().mutex);
  if (!shared().library) shared().library = found;
  return *shared().library;
}

using EntryPoint = int (*)(NvtxTables);
constexpr const char* kEntryPoint = "InitializeInjectionNvtx2";

// CUPTI's own entry point starts CUPTI where its functions need that, as from CUDA 13.0 update 1 on;
// cuptiNvtxInitialize2() does not, and programs would crash. Throws Error (kCannotCollect).
EntryPoint entry_point_of(const Library& library) {
  constexpr std::uint32_t kVersion13_0 = 130000;  // not of update 1, which is 130001
  if (library.version == kVersion13_0)
    throw Error(ErrorCode::kCannotCollect,
                fmt::format("programs that use NVTX crash with {} of CUDA 13.0 (NVIDIA/NVTX#125)", file_of(library)),
                "use CUPTI of CUDA 13.0 update 1 or newer");
  const auto initialize = reinterpret_cast<EntryPoint>(dlsym(library.handle, kEntryPoint));
  if (initialize != nullptr) return initialize;
  throw Error(ErrorCode::kCannotCollect, fmt::format("{} has no {}", file_of(library), kEntryPoint),
              "use CUPTI of CUDA 11.7 or newer");
}

// False: the module is of a namespace of the loader's that is not ours. Throws Error (kCannotCollect).
bool give(NvtxTables tables) {
  if (!stays_mapped(tables)) return false;
  follow_forks();
  Library library;
  EntryPoint initialize = nullptr;
  do {
    library = library_for_nvtx();
    initialize = entry_point_of(library);
  } while (!remember(tables, library));
  if (initialize(tables) != 0) return true;
  throw Error(ErrorCode::kCannotCollect, fmt::format("{} of {} failed", kEntryPoint, file_of(library)),
              "use the newest CUPTI of the CUDA that the program uses");
}

}  // namespace

bool give_to_nvtx(NvtxTables tables) noexcept {
  if (tables == nullptr || phase == Phase::kOver || is_child) return false;
  bool given = false;
  if (const std::optional<Error> failed = failure_of([&] { given = give(tables); }))
    static_cast<void>(failure_of([&] { note(*failed); }));
  return given;
}

void nvtx_is_recorded_by(const Library& library) {
  std::optional<Library> before;
  bool was_given = false;
  {
    const std::lock_guard lock(shared().mutex);
    before = std::exchange(shared().library, library);
    was_given = phase.exchange(Phase::kRecords) == Phase::kBeforeSession && shared().newest_module != nullptr;
  }
  if (is_child)
    note(Error(ErrorCode::kCannotCollect,
               "this process was forked by one that had used NVTX, whose ranges are not recorded in its children",
               "start processes that use CUDA by executing a program, as Python's start method \"spawn\" does"));
  else if (was_given && before && before->handle != library.handle)
    note(Error(ErrorCode::kCannotCollect,
               fmt::format("the first ones came before CUDA was started and went to {}, and {} records",
                           file_of(*before), file_of(library)),
               "let the program start CUDA before its first range"));
}

void nvtx_is_not_recorded() noexcept { phase = Phase::kOver; }

std::vector<std::string> nvtx_notes() {
  const std::lock_guard lock(shared().mutex);
  return shared().notes;
}

}  // namespace spscope::cupti
