# conformance_set: the plans that executors are compared on, for tests and for gpu-check. Included by each folder that links it.
include_guard(GLOBAL)
add_library(conformance_set STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/settings.cpp" "${CMAKE_CURRENT_LIST_DIR}/workloads.cpp")
target_link_libraries(conformance_set PUBLIC spscope_flags spscope_strategies spscope_mask)
spscope_precompile(conformance_set)
spscope_unite(conformance_set)
