// The collector `nccl`: collectives, sends and receives of NCCL, from its profiler plugin (plugin/plugin.cpp) to a
// TraceSink.
//
// It works where NCCL calls the plugin of this library or program, because NCCL_PROFILER_PLUGIN names it; NCCL may load
// it before or after start_nccl(). One collects at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collectors/collector.h"

namespace spscope {

std::optional<std::string> nccl_cannot_collect();
std::unique_ptr<Collector> start_nccl(TraceSink& sink, const CollectedProcess& process);

}  // namespace spscope
