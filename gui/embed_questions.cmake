# Writes OUTPUT with the questions of DOCUMENT: headings "### N. title", each with a block of SQL.
file(READ "${DOCUMENT}" text)
string(ASCII 1 mark)
string(REPLACE ";" "${mark}" text "${text}")
string(REGEX MATCHALL "### [0-9]+\\. [^\n]*\n\n```sql\n[^`]*```" questions "${text}")
set(rows "")
foreach(question IN LISTS questions)
  string(REGEX REPLACE "^### [0-9]+\\. ([^\n]*)\n.*" "\\1" title "${question}")
  string(REGEX REPLACE "^[^\n]*\n\n```sql\n(.*)```$" "\\1" sql "${question}")
  string(REPLACE "${mark}" ";" sql "${sql}")
  string(APPEND rows "    {R\"q(${title})q\", R\"q(${sql})q\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"gui/session/stored_questions.h\"

namespace spscope::gui {

std::span<const StoredQuestion> stored_questions() {
  static constexpr StoredQuestion kQuestions[] = {
${rows}  };
  return kQuestions;
}

}  // namespace spscope::gui
")
