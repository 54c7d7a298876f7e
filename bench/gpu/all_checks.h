// The functions of checks.def.
#pragma once

#include "bench/gpu/check.h"

namespace spscope::gpu_check {

// check_conformance.cpp
CheckResult check_conformance(const CheckContext& context, int ranks);
CheckResult check_one_sided(const CheckContext& context);
// check_kernels.cpp
CheckResult check_kernels(const CheckContext& context);
// check_ipc.cpp
CheckResult check_ipc(const CheckContext& context);
// check_failures.cpp
CheckResult check_failures(const CheckContext& context);
// check_measure.cpp
CheckResult check_measure(const CheckContext& context);
// check_layer.cpp
CheckResult check_layer_error(const CheckContext& context);
CheckResult check_layer_project(const CheckContext& context);
// check_attention.cpp
CheckResult check_dense(const CheckContext& context, int tokens);
CheckResult check_sparse(const CheckContext& context, int block);
// check_pack.cpp
CheckResult check_pack(const CheckContext& context);
// check_programs.cpp
CheckResult check_doctor(const CheckContext& context);
CheckResult check_run(const CheckContext& context);
CheckResult check_calibrate(const CheckContext& context);
CheckResult check_processes(const CheckContext& context);
CheckResult check_sanitizer(const CheckContext& context, const std::string& tool);
// check_collect_cost.cpp
CheckResult check_collect_cost(const CheckContext& context);
// check_collect_rate.cpp
CheckResult check_collect_rate(const CheckContext& context);
// check_collect_nvml.cpp
CheckResult check_collect_nvml(const CheckContext& context);
// check_attach.cpp
CheckResult check_attach_torch(const CheckContext& context);
CheckResult check_collect_window(const CheckContext& context);
CheckResult check_collect_nccl(const CheckContext& context);

}  // namespace spscope::gpu_check
