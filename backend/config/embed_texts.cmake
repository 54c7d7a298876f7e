# cmake -DFOLDERS=<folder;folder> -DROOT=<folder of them> -DOUTPUT=<file.cpp> -P embed_texts.cmake
#   Writes a source file with a function embedded_FOLDER() for each, that holds the text of every ROOT/FOLDER/*.toml, in
#   alphabetical order.
set(functions "")
foreach(folder IN LISTS FOLDERS)
  file(GLOB files "${ROOT}/${folder}/*.toml")
  list(SORT files)
  set(rows "")
  foreach(path IN LISTS files)
    get_filename_component(name "${path}" NAME)
    file(READ "${path}" content)
    string(APPEND rows "    {\"${name}\", R\"profile(${content})profile\"},\n")
  endforeach()
  string(APPEND functions "
std::span<const EmbeddedText> embedded_${folder}() {
  static constexpr EmbeddedText texts[] = {
${rows}  };
  return texts;
}
")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_texts.cmake from folders of backend/config.
#include \"backend/config/embedded_texts.h\"

namespace spscope {
${functions}
}  // namespace spscope
")
