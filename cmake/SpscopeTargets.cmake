# spscope_precompile(TARGET): the target reads the headers of the libraries that most files include from one precompiled
#   header. Headers of the project are not in it, so that an edit rebuilds no more than without it. Nothing may rely on
#   it: the builds with ccache do without, and each header must compile alone (tests/lint).
set(SPSCOPE_PCH_HEADERS <algorithm> <array> <chrono> <cstdint> <filesystem> <functional> <map> <memory> <mutex> <optional>
    <ostream> <span> <sstream> <string> <string_view> <unordered_map> <variant> <vector> <fmt/format.h>)
function(spscope_precompile target)
  if(NOT SPSCOPE_USE_PCH)
    return()
  endif()
  if(target STREQUAL "spscope_base")
    target_precompile_headers(spscope_base PRIVATE ${SPSCOPE_PCH_HEADERS})
  else()
    target_precompile_headers(${target} REUSE_FROM spscope_base)
  endif()
endfunction()

# spscope_cold(TARGET): the target's own code takes little of a run (parsing, printing), so that it is compiled with
#   -O1, which takes a quarter less time than -O3. Not for code that loops over events, tiles, ops or ranks. With clang's
#   sanitizers it is -O0, which halves what takes longest in such a build (g++ gains nothing by it); precompiled headers are
#   of another -O.
function(spscope_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(SPSCOPE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE -O0)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# spscope_unite(TARGET): one translation unit of all sources, where SPSCOPE_UNITY asks for it. Sources with compile flags of
#   their own stay apart.
function(spscope_unite target)
  if(SPSCOPE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    # Included sources look like headers, whose classes should hold nothing from unnamed namespaces.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# spscope_portable(TARGET [WITH_MPI]): the program can be moved to another machine with its libraries: it looks for them in
#   the folder lib beside its own (with the old tag, which also holds for what those need), keeps no path of the build, and
#   needs no MPI unless WITH_MPI says so. It brings its own part of the C++ library, since one call of the compiler's is too
#   new for RHEL 9. scripts/bundle packs such programs.
function(spscope_portable target)
  target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/backend/base/portable/arc4random.cpp")
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags -static-libstdc++)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
  if(NOT "WITH_MPI" IN_LIST ARGN)
    set_target_properties(${target} PROPERTIES SPSCOPE_WITHOUT_MPI ON)
  endif()
endfunction()

# spscope_library(NAME [NO_PCH] [SOURCES glob...] [DEPS targets...] [PRIVATE_DEPS targets...])
#   A static library `spscope_NAME` of every .cpp directly in the folder (or matched by SOURCES). NO_PCH is for libraries
#   with compile flags of their own that change what a header means.
function(spscope_library name)
  cmake_parse_arguments(arg "NO_PCH" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(NOT arg_SOURCES)
    set(arg_SOURCES "*.cpp")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${arg_SOURCES})
  if(sources)
    add_library(spscope_${name} STATIC ${sources})
    target_link_libraries(spscope_${name} PUBLIC spscope_flags ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
    if(NOT arg_NO_PCH)
      spscope_precompile(spscope_${name})
    endif()
    spscope_unite(spscope_${name})
  else()
    add_library(spscope_${name} INTERFACE)
    target_link_libraries(spscope_${name} INTERFACE spscope_flags ${arg_DEPS} ${arg_PRIVATE_DEPS})
  endif()
endfunction()

# spscope_test(NAME [UNITE] [SOURCES glob...] [DEPS targets...] [LABELS labels...] [TIMEOUT seconds]
#              [NOT_SANITIZED patterns...])
#   A GoogleTest program of every .cpp in the folder, registered as one ctest test. UNITE: its sources may be one
#   translation unit (spscope_unite). NOT_SANITIZED: tests that compare figures for long, and neither read foreign input nor
#   share memory between threads, so that builds with sanitizers leave them to the others.
function(spscope_test name)
  cmake_parse_arguments(arg "UNITE" "TIMEOUT" "SOURCES;DEPS;LABELS;NOT_SANITIZED" ${ARGN})
  if(NOT arg_SOURCES)
    set(arg_SOURCES "*.cpp")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${arg_SOURCES})
  add_executable(${name} ${sources})
  # fmt, since the precompiled headers of tests are compiled with its definitions.
  target_link_libraries(${name} PRIVATE spscope_flags ${arg_DEPS} fmt::fmt GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SPSCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             SPSCOPE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(SPSCOPE_USE_PCH)
    target_precompile_headers(${name} REUSE_FROM spscope_test_pch)
  endif()
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # as spscope_cold, but never -O0: brute force loops long
  if(arg_UNITE)
    spscope_unite(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if("hostile" IN_LIST arg_LABELS)
    add_dependencies(hostile_tests ${name})
  endif()
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(threaded_tests ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  if(SPSCOPE_SANITIZE AND arg_NOT_SANITIZED)
    list(JOIN arg_NOT_SANITIZED ":" patterns)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_FILTER=-${patterns}")
  endif()
endfunction()
