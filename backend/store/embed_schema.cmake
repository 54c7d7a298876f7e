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

#define FIGURE(name, type, column, passes, seeds, text, ...) FIGURE_##column(name, type, text)
#define FIGURE_Stored(name, type, text) \
  \"  -- \" text \"\\n  \" #name \" \" #type \" NOT NULL DEFAULT \" ZERO_##type \" CHECK (typeof(\" #name \") = '\" TYPE_##type \"'),\\n\"
#define FIGURE_Nullable(name, type, text) \
  \"  -- \" text \"\\n  \" #name \" \" #type \" CHECK (typeof(\" #name \") IN ('\" TYPE_##type \"', 'null')),\\n\"
#define FIGURE_Computed(name, type, text)
#define RANK_FIGURE(...)
#define TYPE_INTEGER \"integer\"
#define TYPE_REAL \"real\"
#define ZERO_INTEGER \"0\"
#define ZERO_REAL \"0.0\"

namespace spscope {

std::string_view embedded_schema() { return R\"sql(${schema})sql\"; }
#undef FIGURE
#undef FIGURE_Stored
#undef FIGURE_Nullable
#undef FIGURE_Computed
#undef RANK_FIGURE
#undef TYPE_INTEGER
#undef TYPE_REAL
#undef ZERO_INTEGER
#undef ZERO_REAL

std::span<const SqlText> embedded_views() {
  static constexpr SqlText texts[] = {
${views}  };
  return texts;
}

}  // namespace spscope
")
