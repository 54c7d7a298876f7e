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

# spscope_cold(TARGET): the target's own code takes little of a run (parsing, printing, adding up), so that it is compiled
#   with -O1, which takes a third less time than -O3. Not for code that loops over events, tiles or ops.
function(spscope_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# spscope_hot(TARGET): the target's loops take most of a test, so that a build with sanitizers, which is -O0 where clang makes
#   it, compiles them with -O1. Clang refuses precompiled headers of another -O.
function(spscope_hot target)
  if(SPSCOPE_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
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

# Code of tests compiles longer than it runs.
set(SPSCOPE_TEST_OPTIMISATION $<$<NOT:$<CONFIG:Debug>>:-O0>)

# spscope_test_program(NAME): a program of the tests of many folders (spscope_test ... PROGRAM NAME). One for all links once,
#   and its tests need no more than a folder's name; `--folder=PATH` runs those of one.
function(spscope_test_program name)
  add_executable(${name} "${PROJECT_SOURCE_DIR}/tests/support/program/main.cpp")
  target_link_libraries(${name} PRIVATE spscope_flags fmt::fmt GTest::gtest GTest::gmock)
  target_compile_definitions(${name} PRIVATE
    SPSCOPE_TEST_FOLDERS="$<JOIN:$<TARGET_PROPERTY:${name},SPSCOPE_TEST_FOLDERS>,:>")
  target_compile_options(${name} PRIVATE ${SPSCOPE_TEST_OPTIMISATION})
  if(SPSCOPE_USE_PCH)
    target_precompile_headers(${name} REUSE_FROM spscope_test_pch)
  endif()
endfunction()

# spscope_skipped_test(NAME REASON LABELS...): stands for a test that cannot be built here.
function(spscope_skipped_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARGN}" SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

# spscope_test(NAME [PROGRAM program] [UNITE] [SOURCES glob...] [DEPS targets...] [LABELS labels...] [COST seconds]
#              [NOT_SANITIZED patterns...])
#   GoogleTest sources, of every .cpp in the folder, registered as one ctest test. PROGRAM: they are a part of a program with
#   many (spscope_test_program), else a program of their own. UNITE: its sources may be one translation unit
#   (spscope_unite). COST: about how long it takes, so that ctest starts it early. A build with sanitizers leaves out of
#   the programs what its sanitizer is not meant for: hostile input for that of addresses, threads for that of threads.
#   NOT_SANITIZED: tests that compare figures for long, and neither read
#   foreign input nor share memory between threads, so that builds with sanitizers leave them to the others.
function(spscope_test name)
  cmake_parse_arguments(arg "UNITE" "PROGRAM;COST" "SOURCES;DEPS;LABELS;NOT_SANITIZED" ${ARGN})
  if(NOT arg_SOURCES)
    set(arg_SOURCES "*.cpp")
  endif()
  if(NOT arg_COST)
    set(arg_COST 1)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${arg_SOURCES})
  if(arg_PROGRAM)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${sources})
    list(GET sources 0 source)
    get_filename_component(folder "${source}" DIRECTORY)
    set(command ${arg_PROGRAM} "--folder=${folder}")
  else()
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
    set(command ${name})
  endif()
  # fmt, since the precompiled headers of tests are compiled with its definitions.
  target_link_libraries(${name} PUBLIC spscope_flags ${arg_DEPS} fmt::fmt GTest::gtest GTest::gmock)
  target_compile_definitions(${name} PRIVATE SPSCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             SPSCOPE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(SPSCOPE_USE_PCH)
    target_precompile_headers(${name} REUSE_FROM spscope_test_pch)
  endif()
  target_compile_options(${name} PRIVATE ${SPSCOPE_TEST_OPTIMISATION})
  if(arg_UNITE)
    spscope_unite(${name})
  endif()

  if(arg_PROGRAM)
    if((SPSCOPE_SANITIZE MATCHES "address" AND NOT "hostile" IN_LIST arg_LABELS) OR
       (SPSCOPE_SANITIZE MATCHES "thread" AND NOT "threads" IN_LIST arg_LABELS))
      return()
    endif()
    target_link_libraries(${arg_PROGRAM} PRIVATE ${name})
    set_property(TARGET ${arg_PROGRAM} APPEND PROPERTY SPSCOPE_TEST_FOLDERS "${folder}")
  endif()
  add_test(NAME ${name} COMMAND ${command})
  list(GET command 0 program)
  if("hostile" IN_LIST arg_LABELS)
    add_dependencies(hostile_tests ${program})
  endif()
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(threaded_tests ${program})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900 COST "${arg_COST}")
  if(SPSCOPE_SANITIZE AND arg_NOT_SANITIZED)
    list(JOIN arg_NOT_SANITIZED ":" patterns)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_FILTER=-${patterns}")
  endif()
endfunction()
