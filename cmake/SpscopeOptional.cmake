# Optional parts: each has an option SPSCOPE_WITH_<PART> that is AUTO, ON or OFF.

# spscope_optional(PART PACKAGE debian-package VERSION variable MEANING text FIND command name [arguments...])
#   AUTO takes what FIND finds, ON stops the configuration when it finds nothing, OFF does not look. FIND is
#   find_package or pkg_check_modules with its arguments; afterwards <name>_FOUND says whether it is there and VERSION
#   names the variable with its version. A macro, since find_package leaves its results in the caller's scope. Sets
#     SPSCOPE_HAS_<PART>    ON or OFF
#     SPSCOPE_STATE_<PART>  what the summary and `spscope doctor` say: version, or why it is not there
macro(spscope_optional part)
  cmake_parse_arguments(spscope_arg "" "PACKAGE;VERSION;MEANING" "FIND" ${ARGN})
  set(SPSCOPE_WITH_${part} AUTO CACHE STRING
      "${spscope_arg_MEANING}: AUTO (when it is there), ON (stop without it) or OFF")
  set_property(CACHE SPSCOPE_WITH_${part} PROPERTY STRINGS AUTO ON OFF)
  list(POP_FRONT spscope_arg_FIND spscope_command spscope_found)
  set(SPSCOPE_HAS_${part} OFF)
  if(SPSCOPE_WITH_${part} STREQUAL "AUTO")
    cmake_language(CALL ${spscope_command} ${spscope_found} QUIET ${spscope_arg_FIND})
  elseif(SPSCOPE_WITH_${part})
    cmake_language(CALL ${spscope_command} ${spscope_found} REQUIRED ${spscope_arg_FIND})
  endif()
  if(NOT SPSCOPE_WITH_${part})
    set(SPSCOPE_STATE_${part} "off: configured with SPSCOPE_WITH_${part}=${SPSCOPE_WITH_${part}}")
  elseif(${spscope_found}_FOUND)
    set(SPSCOPE_HAS_${part} ON)
    set(SPSCOPE_STATE_${part} "${${spscope_arg_VERSION}}")
  else()
    set(SPSCOPE_STATE_${part} "off: not found when configuring (${spscope_arg_PACKAGE})")
  endif()
endmacro()
