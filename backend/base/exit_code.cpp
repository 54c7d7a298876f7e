#include "backend/base/exit_code.h"

namespace spscope {

// What went wrong in spscope, in a rank or on a disk while work was under way. All other errors refuse what was given.
int exit_code(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kPlanInvalid:
    case ErrorCode::kPlanNotHeld:
    case ErrorCode::kRankFailed:
    case ErrorCode::kRankHung:
    case ErrorCode::kInterrupted:
    case ErrorCode::kDeviceFailed:
    case ErrorCode::kDeviceMemory:
    case ErrorCode::kStoreWrite:
    case ErrorCode::kInternal:
    case ErrorCode::kMemory:
      return kExitFailed;
    default:
      return kExitUsage;
  }
}

}  // namespace spscope
