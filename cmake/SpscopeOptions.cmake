# Options, output folders and the compile flags that every target of the project shares.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

set(SPSCOPE_BUILD_TESTS AUTO CACHE STRING "Build the tests: AUTO (when GoogleTest and Python are there), ON or OFF")
set_property(CACHE SPSCOPE_BUILD_TESTS PROPERTY STRINGS AUTO ON OFF)
option(SPSCOPE_BUILD_EXTENDED "Build what `scripts/test --all` needs besides: benchmarks, gpu-check, newer libraries, every header alone" OFF)
set(SPSCOPE_WERROR OFF CACHE STRING "Treat warnings as errors: AUTO (of the compiler that the project is developed with), ON or OFF")
set_property(CACHE SPSCOPE_WERROR PROPERTY STRINGS AUTO ON OFF)
option(SPSCOPE_FUZZ "Build the libFuzzer targets of tests/fuzz: needs clang" OFF)
set(SPSCOPE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (for example address,undefined)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# One translation unit for a library reads each header once, which builds the same code three times faster, and an edit
# rebuilds all of it: for builds that are made once. Names without linkage must differ within a library then.
option(SPSCOPE_UNITY "Compile each library as one translation unit" OFF)

# What is built once gains nothing by ccache.
if(NOT SPSCOPE_UNITY AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED ENV{CCACHE_DISABLE})
  find_program(SPSCOPE_CCACHE ccache)
  if(SPSCOPE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${SPSCOPE_CCACHE}")
  endif()
endif()

# Precompiled headers (SpscopeTargets.cmake) save a third of a build. They stay out of builds with ccache: it cannot see
# into them without settings that make stale results possible, and it saves more.
set(SPSCOPE_PCH AUTO CACHE STRING "Precompile headers: AUTO (when no ccache is used), ON or OFF")
set_property(CACHE SPSCOPE_PCH PROPERTY STRINGS AUTO ON OFF)
set(SPSCOPE_USE_PCH ${SPSCOPE_PCH})
if(SPSCOPE_PCH STREQUAL "AUTO")
  set(SPSCOPE_USE_PCH ON)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set(SPSCOPE_USE_PCH OFF)
  endif()
endif()

add_library(spscope_flags INTERFACE)
target_compile_options(spscope_flags INTERFACE -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(spscope_flags INTERFACE -Wno-restrict)  # false alarm on "text" + std::string (GCC bug 105651)
  if(SPSCOPE_USE_PCH)  # the same bug, which only shows where the header was precompiled
    target_compile_options(spscope_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()
target_include_directories(spscope_flags INTERFACE "${PROJECT_SOURCE_DIR}")
# Other compilers, and flags of the user's own, may warn of more: that stops nobody.
set(werror ${SPSCOPE_WERROR})
if(SPSCOPE_WERROR STREQUAL "AUTO")
  set(werror OFF)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\." AND NOT CMAKE_CXX_FLAGS)
    set(werror ON)
  endif()
endif()
if(werror)
  target_compile_options(spscope_flags INTERFACE -Werror)
endif()
if(SPSCOPE_SANITIZE)
  target_compile_options(spscope_flags INTERFACE -fsanitize=${SPSCOPE_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  # Libraries that are opened (CUPTI, NVML) are called by types of our own declarations, which differ from NVIDIA's headers
  # in names of enumerations and handles.
  target_compile_options(spscope_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(spscope_flags INTERFACE -fsanitize=${SPSCOPE_SANITIZE})
  target_compile_definitions(spscope_flags INTERFACE SPSCOPE_SANITIZED)
endif()
