// The collector `cupti` with a session of one's own making. The row of collectors.def takes the default one.
#pragma once

#include "collectors/collector.h"
#include "collectors/cupti/session.h"

namespace spscope::cupti {

// after_flush of the options is the collector's. Throws Error (kCannotCollect).
std::unique_ptr<Collector> start(TraceSink& sink, const CollectedProcess& process, const SessionOptions& options);

}  // namespace spscope::cupti
