// SharedTraceMemory: memory as a program and attach share it, here of one process.
#pragma once

#include <sys/mman.h>

#include "backend/base/check.h"
#include "backend/record/shared_trace.h"

namespace spscope {

class SharedTraceMemory {
 public:
  SharedTraceMemory() {
    void* const memory = ::mmap(nullptr, sizeof(SharedTrace), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    SPSCOPE_CHECK(memory != MAP_FAILED);
    trace_ = static_cast<SharedTrace*>(memory);
  }
  ~SharedTraceMemory() { ::munmap(trace_, sizeof(SharedTrace)); }
  SharedTraceMemory(const SharedTraceMemory&) = delete;
  SharedTraceMemory& operator=(const SharedTraceMemory&) = delete;
  SharedTrace& operator*() { return *trace_; }
  SharedTrace* operator->() { return trace_; }

 private:
  SharedTrace* trace_;
};

}  // namespace spscope
