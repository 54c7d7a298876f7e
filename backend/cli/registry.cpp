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

}  // namespace spscope
