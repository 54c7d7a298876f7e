# cmake -DFOLDER=<clusters> -DOUTPUT=<file.cpp> -P embed_clusters.cmake
#   Writes a source file that holds the text of every FOLDER/*.toml, in alphabetical order.
file(GLOB files "${FOLDER}/*.toml")
list(SORT files)
set(rows "")
foreach(path IN LISTS files)
  get_filename_component(name "${path}" NAME)
  file(READ "${path}" content)
  string(APPEND rows "    {\"${name}\", R\"cluster(${content})cluster\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_clusters.cmake from backend/config/clusters.
#include \"backend/config/embedded_clusters.h\"

namespace spscope {

std::span<const EmbeddedText> embedded_clusters() {
  static constexpr EmbeddedText texts[] = {
${rows}  };
  return texts;
}

}  // namespace spscope
")
