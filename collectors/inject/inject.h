// What the injection library does in a process that `spscope attach` started: it asks for shared memory, starts
// collectors that write there, and stops them when the program ends or attach is gone. It installs no signal handlers,
// throws nothing into the program, and is off in the child of a fork.
//
// It is loaded by the CUDA driver (InitializeInjection), by NCCL as its profiler plugin (collectors/nccl/plugin), or by
// both, in any order; whichever comes first begins. NVTX, which programs without CUDA may use, too, loads it and begins
// nothing (InitializeInjectionNvtx2, collectors/cupti/nvtx.h).
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "collectors/collector.h"

namespace spscope::inject {

struct InjectedCollector {
  std::string_view name;
  std::unique_ptr<Collector> (*start)(TraceSink& sink, const CollectedProcess& process) = nullptr;
};

// Those that are started in the program, a list of the library itself: injected_collectors.cpp.
std::span<const InjectedCollector> injected_collectors();

}  // namespace spscope::inject
