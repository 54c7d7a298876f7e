// The functions of checks.def, each in check_<what>.cpp.
#pragma once

#include "bench/gpu/check.h"

namespace spscope::gpu_check {

CheckResult check_conformance(const CheckContext& context, int ranks);
CheckResult check_one_sided(const CheckContext& context);
CheckResult check_kernels(const CheckContext& context);
CheckResult check_ipc(const CheckContext& context);
CheckResult check_failures(const CheckContext& context);
CheckResult check_measure(const CheckContext& context);
CheckResult check_layer_error(const CheckContext& context);
CheckResult check_layer_project(const CheckContext& context);
CheckResult check_dense(const CheckContext& context, int tokens);
CheckResult check_sparse(const CheckContext& context, int block);
CheckResult check_pack(const CheckContext& context);
CheckResult check_doctor(const CheckContext& context);
CheckResult check_run(const CheckContext& context);
CheckResult check_calibrate(const CheckContext& context);
CheckResult check_processes(const CheckContext& context);
CheckResult check_sanitizer(const CheckContext& context, const std::string& tool);
CheckResult check_collect_cost(const CheckContext& context);
CheckResult check_collect_rate(const CheckContext& context);
CheckResult check_collect_nvml(const CheckContext& context);
CheckResult check_attach_torch(const CheckContext& context);
CheckResult check_collect_window(const CheckContext& context);
CheckResult check_collect_nccl(const CheckContext& context);

}  // namespace spscope::gpu_check
