# gpu_processes: ranks on GPUs as processes of MPI, for tests and for gpu-check. Which driver it finds is up to who starts
# it. Included by the folder of either, whichever is built.
if(NOT SPSCOPE_HAS_MPI OR TARGET gpu_processes)
  return()
endif()
set(tests "${PROJECT_SOURCE_DIR}/tests")
add_executable(gpu_processes "${tests}/gpu_ranks/gpu_processes.cpp" "${tests}/conformance/settings.cpp"
                             "${tests}/conformance/workloads.cpp")
target_link_libraries(gpu_processes PRIVATE spscope_flags spscope_strategies spscope_schedule spscope_execute spscope_mask)
set_target_properties(gpu_processes PROPERTIES OUTPUT_NAME gpu-processes)
spscope_cold(gpu_processes)
spscope_portable(gpu_processes WITH_MPI)
