#include "backend/cli/command.h"

namespace spscope {

#define COMMAND(name, summary) Command declare_##name();
#include "backend/cli/commands.def"
#undef COMMAND

std::span<const CommandRow> commands() {
  static constexpr CommandRow table[] = {
#define COMMAND(name, summary) {#name, summary, declare_##name},
#include "backend/cli/commands.def"
#undef COMMAND
  };
  return table;
}

}  // namespace spscope
