// NVTX, by which programs name ranges of their work. It is compiled into each module that uses it. At the first call of
// such a module it loads the library that NVTX_INJECTION64_PATH names, asks it for functions, and never asks again, so
// that they are given before the driver starts, too, when a session has yet to begin: those of the CUPTI that the
// program has loaded, or that lies beside its CUDA runtime. Without either a module gets none: a CUPTI that is loaded
// for it would take the place of the program's, and would start in programs that never use CUDA. CUPTI makes records of
// ranges while a session wants them.
//
// CUPTI's functions take locks, which the child of a fork may have inherited held, and there is no thread that empties
// its buffers: in the child of a process, modules lose the functions again, and get none in its own session either.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectors/cupti/library.h"

namespace spscope::cupti {

// What a module hands over, by which its functions are reached: NvtxGetExportTableFunc_t of NVTX's headers.
using NvtxTables = const void* (*)(std::uint32_t table);

// Gives CUPTI's functions to a module. Otherwise, false, it goes on without; nvtx_notes() says why, unless a session
// does. Any thread; calls the loader.
bool give_to_nvtx(NvtxTables tables) noexcept;

// From now on a session of this library records ranges; or none does any longer, or none could begin.
void nvtx_is_recorded_by(const Library& library);
void nvtx_is_not_recorded() noexcept;

// Whose ranges are not recorded, and why, with what to do.
std::vector<std::string> nvtx_notes();

}  // namespace spscope::cupti
