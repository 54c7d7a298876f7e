# cmake -DFOLDER=<schemas> -DOUTPUT=<file.cpp> -P embed_schema.cmake
#   Writes a source file that holds the text of FOLDER/store.sql, with the columns of figures.def, and FOLDER/views/*.sql.
file(READ "${FOLDER}/store.sql" schema)
string(REPLACE "  -- here stand the columns of backend/store/figures.def\n"
               ")sql\"\n#include \"backend/store/figures.def\"\n         R\"sql(" schema "${schema}")
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

#define FIGURE(name, type, unit, column, passes, seeds, place, title, text, ...) FIGURE_##column(name, type, text)
#define FIGURE_Stored(name, type, text) \
  \"  -- \" text \"\\n  \" #name \" \" #type \" NOT NULL DEFAULT 0 CHECK (typeof(\" #name \") = lower('\" #type \"')),\\n\"
#define FIGURE_Nullable(name, type, text) \
  \"  -- \" text \"\\n  \" #name \" \" #type \" CHECK (typeof(\" #name \") IN (lower('\" #type \"'), 'null')),\\n\"
#define FIGURE_Computed(name, type, text)

namespace spscope {

std::string_view embedded_schema() { return R\"sql(${schema})sql\"; }

std::span<const SqlText> embedded_views() {
  static constexpr SqlText texts[] = {
${views}  };
  return texts;
}

}  // namespace spscope
")
