# Third-party libraries. Hard needs stop the configuration; optional ones switch a part off and say so.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)

# Optional parts, each with a switch SPSCOPE_WITH_<PART>.
spscope_optional(HIGHWAY PACKAGE libhwy-dev VERSION HWY_VERSION MEANING "Compile attention for many instruction sets"
                 FIND find_package HWY)
spscope_optional(ZIP PACKAGE libzip-dev VERSION LIBZIP_VERSION MEANING "Read .npz with libzip"
                 FIND pkg_check_modules LIBZIP IMPORTED_TARGET libzip)
spscope_optional(ONEDNN PACKAGE libdnnl-dev VERSION dnnl_VERSION MEANING "Multiply matrices with oneDNN: whole layers"
                 FIND find_package dnnl)
set(MPI_CXX_SKIP_MPICXX ON)
spscope_optional(MPI PACKAGE libopenmpi-dev VERSION MPI_CXX_VERSION MEANING "Ranks in processes of their own"
                 FIND find_package MPI COMPONENTS CXX)
if(NOT SPSCOPE_HAS_HIGHWAY)
  set(SPSCOPE_STATE_HIGHWAY "${SPSCOPE_STATE_HIGHWAY}; attention runs on portable vectors, several times slower")
endif()
if(SPSCOPE_HAS_ONEDNN)
  # The library is threaded by OpenMP; its threads are told to stay alone.
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT OpenMP_CXX_FOUND)
    set(SPSCOPE_HAS_ONEDNN OFF)
    set(SPSCOPE_STATE_ONEDNN "off: the compiler has no OpenMP")
  endif()
endif()
if(NOT SPSCOPE_HAS_ONEDNN)
  set(SPSCOPE_STATE_ONEDNN "${SPSCOPE_STATE_ONEDNN}; run.scope = layer is simulated, not executed")
endif()
if(SPSCOPE_HAS_MPI)
  set(SPSCOPE_STATE_MPI "${SPSCOPE_STATE_MPI} (standard), started by ${MPIEXEC_EXECUTABLE}")
else()
  set(SPSCOPE_STATE_MPI "${SPSCOPE_STATE_MPI}; ranks are threads of one process")
endif()

# The interpreter of the system, which scripts/packages.txt names, comes before one that a user's PATH adds.
find_program(Python3_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)
set(SPSCOPE_TESTS ${SPSCOPE_BUILD_TESTS})
if(SPSCOPE_BUILD_TESTS STREQUAL "AUTO")
  find_package(GTest QUIET)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  set(SPSCOPE_TESTS OFF)
  if(GTest_FOUND AND Python3_FOUND)
    set(SPSCOPE_TESTS ON)
  endif()
elseif(SPSCOPE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
