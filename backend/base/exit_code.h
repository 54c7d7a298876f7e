// Exit codes of the program and of the processes that run its ranks:
//
//   0  done
//   1  the work failed
//   2  the command, its config or a file it was given is at fault, and nothing was done
//   3  a regression was found
#pragma once

#include "backend/base/error.h"

namespace spscope {

inline constexpr int kExitDone = 0, kExitFailed = 1, kExitUsage = 2, kExitRegression = 3;

// The exit code of a program that ends with this error: kExitFailed or kExitUsage.
int exit_code(const Error& error);

}  // namespace spscope
