#include "backend/execute/execute.h"

namespace spscope {

#define EXECUTOR(name, summary) \
  ExecuteResult execute_##name(const Plan&, const Request&, const Activations&, const ExecuteOptions&);
#include "backend/execute/executors.def"
#undef EXECUTOR

std::span<const Executor> executors() {
  static constexpr Executor table[] = {
#define EXECUTOR(name, summary) {#name, summary, execute_##name},
#include "backend/execute/executors.def"
#undef EXECUTOR
  };
  return table;
}

ExecuteResult execute(const Plan& plan, const Request& request, const Activations& activations,
                      const ExecuteOptions& options) {
  return options.world != nullptr ? execute_mpi(plan, request, activations, options)
                                  : execute_threads(plan, request, activations, options);
}

}  // namespace spscope
