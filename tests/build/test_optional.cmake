# spscope_optional with toy searches: AUTO takes what is there, ON asks for it, OFF does not look.
cmake_minimum_required(VERSION 3.22)
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/SpscopeOptional.cmake")

# Searches that say how they were asked.
macro(find_there name strictness)
  set(${name}_FOUND TRUE)
  set(${name}_VERSION "1.2")
  set(asked "${strictness} ${ARGN}")
endmacro()
macro(find_missing name strictness)
  set(${name}_FOUND FALSE)
  set(asked "${strictness} ${ARGN}")
endmacro()

function(expect actual wanted)
  if(NOT "${actual}" STREQUAL "${wanted}")
    message(SEND_ERROR "expected \"${wanted}\", got \"${actual}\"")
  endif()
endfunction()

macro(look part search)
  set(asked "not asked")
  spscope_optional(${part} PACKAGE libtoy-dev VERSION Toy_VERSION MEANING "A toy" FIND ${search} Toy COMPONENTS a b)
endmacro()

look(DEFAULT find_there)
expect("${SPSCOPE_WITH_DEFAULT}" "AUTO")
expect("${asked}" "QUIET COMPONENTS;a;b")
expect("${SPSCOPE_HAS_DEFAULT}: ${SPSCOPE_STATE_DEFAULT}" "ON: 1.2")

look(ABSENT find_missing)
expect("${SPSCOPE_HAS_ABSENT}: ${SPSCOPE_STATE_ABSENT}" "OFF: off: not found when configuring (libtoy-dev)")

set(SPSCOPE_WITH_FORCED ON CACHE STRING "")
look(FORCED find_there)
expect("${asked}" "REQUIRED COMPONENTS;a;b")
expect("${SPSCOPE_HAS_FORCED}: ${SPSCOPE_STATE_FORCED}" "ON: 1.2")

set(SPSCOPE_WITH_UNWANTED OFF CACHE STRING "")
look(UNWANTED find_there)
expect("${asked}" "not asked")
expect("${SPSCOPE_HAS_UNWANTED}: ${SPSCOPE_STATE_UNWANTED}"
       "OFF: off: configured with SPSCOPE_WITH_UNWANTED=OFF")
