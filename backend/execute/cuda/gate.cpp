#include "backend/execute/cuda/gate.h"

#include <atomic>

#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {

void ClosedGate::hold(CUstream stream) const {
  check(driver().cuStreamWaitValue32(stream, gate_.word_.address(), pass_, CU_STREAM_WAIT_VALUE_GEQ),
        "cuStreamWaitValue32");
}

void ClosedGate::open() noexcept {
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(gate_.word_.bytes().data())).store(pass_);
}

}  // namespace spscope::cuda
