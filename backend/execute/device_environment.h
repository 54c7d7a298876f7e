// What a program that runs ranks on GPUs asks of the driver, which reads it when it starts.
#pragma once

namespace spscope {

// First in main, before any thread. What the user has set stays.
void set_device_environment();

}  // namespace spscope
