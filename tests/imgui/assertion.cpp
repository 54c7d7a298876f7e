// What the package's imconfig.h calls when a condition of Dear ImGui does not hold: the program ends, and the test with
// it.
#include <cstdlib>
#include <iostream>

void slimgui_assert(const char* file, int line, const char* expression);

void slimgui_assert(const char* file, int line, const char* expression) {
  std::cerr << file << ":" << line << ": does not hold: " << expression << "\n";
  std::abort();
}
