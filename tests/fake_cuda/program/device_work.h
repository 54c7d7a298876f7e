// What a program that is no part of spscope does on a GPU: each round is a kernel, a copy to the device and a memset on
// one stream, and a wait for them.
#pragma once

#include <functional>

namespace spscope::fake_cuda {

// Starts the driver when it has not been started. Throws std::runtime_error when the driver says no.
void work_on_device(int rounds, int gpu = 0);
// Before each round it is asked whether to go on.
void work_on_device_while(const std::function<bool()>& goes_on, int gpu = 0);

}  // namespace spscope::fake_cuda
