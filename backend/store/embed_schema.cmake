# cmake -DFOLDER=<schemas> -DOUTPUT=<file.cpp> -P embed_schema.cmake
#   Writes a source file that holds the text of FOLDER/NNNN_*.sql and FOLDER/views/*.sql.
function(rows_of result)
  set(rows "")
  list(SORT ARGN)
  foreach(path IN LISTS ARGN)
    get_filename_component(name "${path}" NAME_WE)
    file(READ "${path}" content)
    string(APPEND rows "    {\"${name}\", R\"sql(${content})sql\"},\n")
  endforeach()
  set(${result} "${rows}" PARENT_SCOPE)
endfunction()

file(GLOB migration_files "${FOLDER}/[0-9]*_*.sql")
file(GLOB view_files "${FOLDER}/views/*.sql")
rows_of(migrations ${migration_files})
rows_of(views ${view_files})
file(WRITE "${OUTPUT}" "// Written by embed_schema.cmake from schemas.
#include \"backend/store/embedded_schema.h\"

namespace spscope {

std::span<const SqlText> embedded_migrations() {
  static constexpr SqlText texts[] = {
${migrations}  };
  return texts;
}

std::span<const SqlText> embedded_views() {
  static constexpr SqlText texts[] = {
${views}  };
  return texts;
}

}  // namespace spscope
")
