#include "backend/cli/command.h"

namespace spscope {

#define COMMAND(name, summary) CommandAction declare_##name(CLI::App& app);
#include "backend/cli/commands.def"
#undef COMMAND

std::span<const Command> commands() {
  static constexpr Command table[] = {
#define COMMAND(name, summary) {#name, summary, declare_##name},
#include "backend/cli/commands.def"
#undef COMMAND
  };
  return table;
}

int exit_code(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kUsage:
    case ErrorCode::kUnavailable:
    case ErrorCode::kActivations:
    case ErrorCode::kPlanTooLarge:
      return kExitUsage;
    default:
      break;
  }
  const int number = static_cast<int>(error.code());
  const bool input = number < 70 || (number >= 100 && number < 120);  // config, masks, strategies
  return input ? kExitUsage : kExitFailed;
}

}  // namespace spscope
