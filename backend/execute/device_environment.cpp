#include "backend/execute/device_environment.h"

#include <cstdlib>

namespace spscope {

// 8 ranks of a GPU have up to 24 streams. Those that share one of its queues, of which there are 8 unless this asks for
// more, hold each other up.
void set_device_environment() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

}  // namespace spscope
