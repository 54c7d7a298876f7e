# embed_page.cmake: SCRIPT, OUTPUT. Writes a C++ file with the script of a page and its hash as content security policies
# have it (https://www.w3.org/TR/CSP3/#grammardef-hash-source).
file(READ "${SCRIPT}" script)
file(SHA256 "${SCRIPT}" hex)
set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
set(hash "")
# 32 bytes: ten groups of three, and two that a zero byte fills up.
foreach(begin RANGE 0 60 6)
  string(SUBSTRING "${hex}00" ${begin} 6 group)
  foreach(shift 18 12 6 0)
    math(EXPR at "0x${group} >> ${shift} & 63")
    string(SUBSTRING "${letters}" ${at} 1 letter)
    string(APPEND hash "${letter}")
  endforeach()
endforeach()
string(SUBSTRING "${hash}" 0 43 hash)
file(WRITE "${OUTPUT}" "#include \"backend/report/html.h\"\n\nnamespace spscope {\n\nstd::string_view html_script() {\n  static constexpr std::string_view script = R\"js_page(${script})js_page\";\n  return script;\n}\n\nstd::string_view html_script_hash() { return \"sha256-${hash}=\"; }\n\n}  // namespace spscope\n")
