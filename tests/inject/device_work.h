// What a program does on a GPU, the fake one: each round is a kernel, a copy to the device and a memset on one stream,
// and a wait for them.
#pragma once

namespace spscope {

// Starts the driver when it has not been started. Ends the program when the driver says no.
void work_on_device(int rounds);

}  // namespace spscope
