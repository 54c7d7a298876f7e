# gpu_processes: ranks on GPUs as processes of MPI, for tests and for gpu-check. Which driver it finds is up to who starts
# it. Included by the folder of either, whichever is built.
if(NOT SPSCOPE_HAS_MPI OR TARGET gpu_processes)
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/../conformance/conformance_set.cmake")
add_executable(gpu_processes "${CMAKE_CURRENT_LIST_DIR}/gpu_processes.cpp")
target_link_libraries(gpu_processes PRIVATE spscope_flags conformance_set spscope_strategies spscope_schedule spscope_execute spscope_mask)
set_target_properties(gpu_processes PROPERTIES OUTPUT_NAME gpu-processes)
spscope_cold(gpu_processes)
spscope_portable(gpu_processes WITH_MPI)
