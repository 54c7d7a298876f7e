# The compiler of CUDA kernels. Only kernel images are compiled by it (kernels/cuda); everything else is C++ that opens
# the driver at run time. So CMake's language CUDA is not used: CMake 3.25 knows no C++20 for it.
#
#   SPSCOPE_NVCC                nvcc: $CUDACXX, one on the path, /usr/local/cuda, or what `scripts/setup cuda` made
#   SPSCOPE_FATBINARY           the program beside it that packs images
#   SPSCOPE_NVCC_FLAGS          how it compiles C++20
#   SPSCOPE_HAS_CUDA            it compiles a kernel, and <cuda.h> is there
#   SPSCOPE_STATE_CUDA          its version, or why there are no kernels: the compiler's first error
#   SPSCOPE_CUDA_CODE           the architectures that kernels are compiled for, the newest last
#   spscope_cuda_header         the target with <cuda.h>
set(SPSCOPE_WITH_CUDA AUTO CACHE STRING "Ranks on GPUs: AUTO (when nvcc works), ON (stop without it) or OFF")
set_property(CACHE SPSCOPE_WITH_CUDA PROPERTY STRINGS AUTO ON OFF)

set(SPSCOPE_CUDA_ARCHITECTURES AUTO CACHE STRING "Architectures of GPUs with code of their own, the newest last, as 80;90;100: others \
translate what the newest gets when a program starts. AUTO is 80, and with SPSCOPE_BUILD_EXTENDED 80;90;100")

# spscope_try_nvcc(RESULT): "" when nvcc compiles a kernel as the build will, else the first error. Takes two seconds,
#   so the answer is kept for as long as nvcc is the same file.
function(spscope_try_nvcc result)
  file(TIMESTAMP "${SPSCOPE_NVCC}" stamp)
  set(key "${SPSCOPE_NVCC} ${stamp}")
  if(NOT SPSCOPE_NVCC_TRIED STREQUAL key)
    set(folder "${PROJECT_BINARY_DIR}/CMakeFiles/cuda")
    file(WRITE "${folder}/try.cu" "#include <cuda.h>\n#include <cuda_bf16.h>\n#include <bit>\n"
         "extern \"C\" __global__ void tried(float* x) { *x = std::bit_cast<float>(CUDA_VERSION); }\n")
    execute_process(COMMAND "${SPSCOPE_NVCC}" ${SPSCOPE_NVCC_FLAGS} -arch=sm_100 -cubin -o try.cubin try.cu
                    WORKING_DIRECTORY "${folder}" RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
    set(error "")
    if(failed)
      string(REGEX MATCH "[^\n]*([Ee]rror|fatal|not found|No such)[^\n]*" error "${output}")
      if(NOT error)
        set(error "it failed (${failed}) without an error")
      endif()
    endif()
    set(SPSCOPE_NVCC_TRIED "${key}" CACHE INTERNAL "The nvcc that was tried")
    set(SPSCOPE_NVCC_ERROR "${error}" CACHE INTERNAL "What it said")
  endif()
  set(${result} "${SPSCOPE_NVCC_ERROR}" PARENT_SCOPE)
endfunction()

set(SPSCOPE_NVCC_FLAGS -std=c++20 -O3 -lineinfo --expt-relaxed-constexpr)
set(SPSCOPE_HAS_CUDA OFF)
if(NOT SPSCOPE_WITH_CUDA)
  set(SPSCOPE_STATE_CUDA "off: configured with SPSCOPE_WITH_CUDA=${SPSCOPE_WITH_CUDA}")
else()
  find_program(SPSCOPE_NVCC nvcc PATHS /usr/local/cuda/bin "${PROJECT_SOURCE_DIR}/build/cuda/bin")
  if(DEFINED ENV{CUDACXX} AND EXISTS "$ENV{CUDACXX}")
    set(SPSCOPE_NVCC "$ENV{CUDACXX}")
  endif()
  if(NOT SPSCOPE_NVCC)
    set(SPSCOPE_STATE_CUDA "off: no nvcc when configuring (scripts/setup cuda gets one)")
  else()
    spscope_try_nvcc(error)
    set(toolkit "")
    if(NOT error)
      # What is on the path may be a script or a link: nvcc itself knows where it is.
      execute_process(COMMAND "${SPSCOPE_NVCC}" --dryrun -x cu -c /dev/null OUTPUT_QUIET ERROR_VARIABLE said)
      if(said MATCHES "TOP=([^\n]+)")
        file(REAL_PATH "${CMAKE_MATCH_1}" toolkit)
      endif()
      find_path(SPSCOPE_CUDA_INCLUDE cuda.h HINTS "${toolkit}/include" "${toolkit}/targets/x86_64-linux/include"
                NO_DEFAULT_PATH)
    endif()
    if(error)
      set(SPSCOPE_STATE_CUDA "off: ${SPSCOPE_NVCC}: ${error}")
    elseif(NOT SPSCOPE_CUDA_INCLUDE)
      set(SPSCOPE_STATE_CUDA "off: ${toolkit} has no cuda.h")
    else()
      execute_process(COMMAND "${SPSCOPE_NVCC}" --version OUTPUT_VARIABLE version ERROR_QUIET)
      string(REGEX MATCH "V([0-9.]+)" version "${version}")
      set(SPSCOPE_HAS_CUDA ON)
      set(SPSCOPE_FATBINARY "${toolkit}/bin/fatbinary")
      set(SPSCOPE_CUDA_CODE ${SPSCOPE_CUDA_ARCHITECTURES})
      if(SPSCOPE_CUDA_ARCHITECTURES STREQUAL "AUTO")
        set(SPSCOPE_CUDA_CODE 80)
        if(SPSCOPE_BUILD_EXTENDED)
          set(SPSCOPE_CUDA_CODE 80 90 100)
        endif()
      endif()
      list(JOIN SPSCOPE_CUDA_CODE ", sm_" architectures)
      set(SPSCOPE_STATE_CUDA "nvcc ${CMAKE_MATCH_1}, kernels for sm_${architectures} and later")
      add_library(spscope_cuda_header INTERFACE)
      target_include_directories(spscope_cuda_header SYSTEM INTERFACE "${SPSCOPE_CUDA_INCLUDE}")
    endif()
  endif()
  if(SPSCOPE_WITH_CUDA STREQUAL "ON" AND NOT SPSCOPE_HAS_CUDA)
    message(FATAL_ERROR "SPSCOPE_WITH_CUDA=ON: ${SPSCOPE_STATE_CUDA}")
  endif()
endif()
