# cmake -DFOLDER=<schemas> -DOUTPUT=<file.cpp> -P embed_schema.cmake
#   Writes a source file that holds the text of FOLDER/store.sql and FOLDER/views/*.sql.
file(READ "${FOLDER}/store.sql" schema)
file(GLOB view_files "${FOLDER}/views/*.sql")
list(SORT view_files)
set(views "")
foreach(path IN LISTS view_files)
  get_filename_component(name "${path}" NAME_WE)
  file(READ "${path}" content)
  string(APPEND views "    {\"${name}\", R\"sql(${content})sql\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_schema.cmake from schemas.
#include \"backend/store/embedded_schema.h\"

namespace spscope {

std::string_view embedded_schema() { return R\"sql(${schema})sql\"; }

std::span<const SqlText> embedded_views() {
  static constexpr SqlText texts[] = {
${views}  };
  return texts;
}

}  // namespace spscope
")
