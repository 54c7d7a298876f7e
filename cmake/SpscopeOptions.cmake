# Options, output folders and the compile flags that every target of the project shares.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

set(SPSCOPE_BUILD_TESTS AUTO CACHE STRING "Build the tests: AUTO (when GoogleTest and Python are there), ON or OFF")
set_property(CACHE SPSCOPE_BUILD_TESTS PROPERTY STRINGS AUTO ON OFF)
option(SPSCOPE_BUILD_BENCH "Build the benchmarks" ON)
option(SPSCOPE_WERROR "Treat warnings as errors" OFF)
option(SPSCOPE_WITH_CUDA "Stop when the CUDA Toolkit is missing; no target of this version uses it" OFF)
set(SPSCOPE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (for example address,undefined)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

find_program(SPSCOPE_CCACHE ccache)
if(SPSCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SPSCOPE_CCACHE}")
endif()

add_library(spscope_flags INTERFACE)
target_compile_options(spscope_flags INTERFACE -Wall -Wextra)
target_include_directories(spscope_flags INTERFACE "${PROJECT_SOURCE_DIR}")
if(SPSCOPE_WERROR)
  target_compile_options(spscope_flags INTERFACE -Werror)
endif()
if(SPSCOPE_SANITIZE)
  target_compile_options(spscope_flags INTERFACE -fsanitize=${SPSCOPE_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(spscope_flags INTERFACE -fsanitize=${SPSCOPE_SANITIZE})
endif()
