# Third-party libraries. Hard needs stop the configuration; optional ones switch a part off and say so.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(libpng REQUIRED IMPORTED_TARGET libpng)

pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
find_package(HWY REQUIRED)
find_package(dnnl REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)  # oneDNN is threaded by it; its threads are told to stay alone

# Optional parts, each with a switch SPSCOPE_WITH_<PART>.
set(MPI_CXX_SKIP_MPICXX ON)
spscope_optional(MPI PACKAGE libopenmpi-dev VERSION MPI_CXX_VERSION MEANING "Ranks in processes of their own"
                 FIND find_package MPI COMPONENTS CXX)
if(SPSCOPE_HAS_MPI)
  set(SPSCOPE_STATE_MPI "${SPSCOPE_STATE_MPI} (standard), started by ${MPIEXEC_EXECUTABLE}")
else()
  set(SPSCOPE_STATE_MPI "${SPSCOPE_STATE_MPI}; ranks are threads of one process")
endif()

# The desktop app: windows by GLFW, OpenGL by EGL where there is no display, Dear ImGui of the system or of a source tree.
# spscope_imgui(NAME DIR): a static library of a source tree of Dear ImGui, with what the app uses of it.
function(spscope_imgui name dir)
  set(sources imgui.cpp imgui_demo.cpp imgui_draw.cpp imgui_tables.cpp imgui_widgets.cpp backends/imgui_impl_opengl3.cpp
              misc/freetype/imgui_freetype.cpp misc/cpp/imgui_stdlib.cpp)
  list(TRANSFORM sources PREPEND "${dir}/")
  # tests/imgui downloads its tree.
  set_source_files_properties(${sources} PROPERTIES GENERATED TRUE)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${name} SYSTEM PUBLIC "${dir}" "${dir}/backends" "${dir}/misc/freetype" "${dir}/misc/cpp")
  target_link_libraries(${name} PUBLIC ${CMAKE_DL_LIBS})
endfunction()

set(SPSCOPE_IMGUI_DIR "" CACHE PATH "A source tree of Dear ImGui (1.86 or newer) to use instead of the system's")
if(SPSCOPE_IMGUI_DIR)
  if(NOT EXISTS "${SPSCOPE_IMGUI_DIR}/backends/imgui_impl_opengl3.cpp")
    message(FATAL_ERROR "SPSCOPE_IMGUI_DIR=${SPSCOPE_IMGUI_DIR} is not a source tree of Dear ImGui: it has no "
                        "backends/imgui_impl_opengl3.cpp")
  endif()
  set(spscope_gui_packages glfw3 egl opengl freetype2)
else()
  set(spscope_gui_packages imgui glfw3 egl opengl freetype2)
endif()
spscope_optional(GUI PACKAGE "libimgui-dev, libglfw3-dev, libegl-dev, libopengl-dev, libfreetype-dev"
                 VERSION SPSCOPE_GUI_VERSION MEANING "Build the desktop app"
                 FIND pkg_check_modules SPSCOPE_GUI IMPORTED_TARGET ${spscope_gui_packages})
if(SPSCOPE_HAS_GUI)
  set(SPSCOPE_STATE_GUI "Dear ImGui ${SPSCOPE_GUI_imgui_VERSION}, GLFW ${SPSCOPE_GUI_glfw3_VERSION}")
  add_library(spscope_gui_platform INTERFACE)
  target_link_libraries(spscope_gui_platform INTERFACE PkgConfig::SPSCOPE_GUI)
  if(SPSCOPE_IMGUI_DIR)
    set(SPSCOPE_STATE_GUI "Dear ImGui of ${SPSCOPE_IMGUI_DIR}, GLFW ${SPSCOPE_GUI_glfw3_VERSION}")
    spscope_imgui(spscope_imgui "${SPSCOPE_IMGUI_DIR}")
    target_link_libraries(spscope_imgui PUBLIC PkgConfig::SPSCOPE_GUI)
    target_link_libraries(spscope_gui_platform INTERFACE spscope_imgui)
  else()
    target_include_directories(spscope_gui_platform SYSTEM INTERFACE "${SPSCOPE_GUI_imgui_INCLUDEDIR}/backends")
  endif()
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
