# cmake -DFOLDER=<help> -DOUTPUT=<file.cpp> -P embed_help.cmake
#   Writes a source file that holds the text of every FOLDER/*.md by command name.
file(GLOB files "${FOLDER}/*.md")
list(SORT files)
set(rows "")
foreach(path IN LISTS files)
  get_filename_component(name "${path}" NAME_WE)
  file(READ "${path}" content)
  string(APPEND rows "    {\"${name}\", R\"help(${content})help\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_help.cmake from backend/cli/help.
#include \"backend/cli/help.h\"

namespace spscope {

std::string_view long_help(std::string_view command) {
  struct Text {
    std::string_view command, text;
  };
  static constexpr Text texts[] = {
${rows}  };
  for (const Text& text : texts)
    if (text.command == command) return text.text;
  return {};
}

}  // namespace spscope
")
