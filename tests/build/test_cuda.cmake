# What a configuration says of nvcc (cmake/SpscopeCuda.cmake), by compilers that fail: the first error is kept, and the
# same compiler is not tried twice.
cmake_minimum_required(VERSION 3.22)
set(PROJECT_SOURCE_DIR "${CMAKE_CURRENT_LIST_DIR}/../..")
set(PROJECT_BINARY_DIR "${FOLDER}")
file(REMOVE_RECURSE "${FOLDER}")

function(expect actual wanted)
  if(NOT "${actual}" STREQUAL "${wanted}")
    message(SEND_ERROR "expected \"${wanted}\", got \"${actual}\"")
  endif()
endfunction()

# make_compiler(NAME LINES): SPSCOPE_NVCC is a program that counts its calls, says LINES and fails.
macro(make_compiler name lines)
  file(WRITE "${FOLDER}/${name}" "#!/bin/sh\necho call >>'${FOLDER}/${name}.calls'\ncat >&2 <<'END'\n${lines}\nEND\nexit 2\n")
  file(CHMOD "${FOLDER}/${name}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(SPSCOPE_NVCC "${FOLDER}/${name}" CACHE FILEPATH "" FORCE)
endmacro()

unset(ENV{CUDACXX})
make_compiler(old_gcc "In file included from x\ncrt/host_config.h:143:2: error: #error -- unsupported GNU version!\nerror: more")
foreach(time 1 2)
  include("${PROJECT_SOURCE_DIR}/cmake/SpscopeCuda.cmake")
  expect("${SPSCOPE_HAS_CUDA}: ${SPSCOPE_STATE_CUDA}"
         "OFF: off: ${FOLDER}/old_gcc: crt/host_config.h:143:2: error: #error -- unsupported GNU version!")
endforeach()
file(STRINGS "${FOLDER}/old_gcc.calls" calls)
expect("${calls}" "call")

make_compiler(other "nvcc fatal   : Unsupported gpu architecture 'sm_100'")
include("${PROJECT_SOURCE_DIR}/cmake/SpscopeCuda.cmake")
expect("${SPSCOPE_STATE_CUDA}" "off: ${FOLDER}/other: nvcc fatal   : Unsupported gpu architecture 'sm_100'")

make_compiler(silent "")
include("${PROJECT_SOURCE_DIR}/cmake/SpscopeCuda.cmake")
expect("${SPSCOPE_STATE_CUDA}" "off: ${FOLDER}/silent: it failed (2) without an error")

set(SPSCOPE_WITH_CUDA OFF CACHE STRING "" FORCE)
include("${PROJECT_SOURCE_DIR}/cmake/SpscopeCuda.cmake")
expect("${SPSCOPE_HAS_CUDA}: ${SPSCOPE_STATE_CUDA}" "OFF: off: configured with SPSCOPE_WITH_CUDA=OFF")
