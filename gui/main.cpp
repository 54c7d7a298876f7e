// The `spscope-gui` program: a window on stored runs, or pictures and numbers of it without one.
#include <iostream>
#include <string>
#include <vector>

#include "backend/base/exit_code.h"
#include "backend/base/result.h"
#include "gui/app/desktop.h"
#include "gui/app/headless.h"
#include "gui/app/version.h"

int main(int argc, char** argv) {
  using namespace spscope;
  const auto code = capture([&] {
    const gui::Options options = gui::parse_options({argv + 1, argv + argc});
    if (options.help) {
      std::cout << gui::options_help();
      return kExitDone;
    }
    if (options.version) {
      std::cout << "spscope-gui " << gui::kVersion << "\n";
      return kExitDone;
    }
    return options.headless() ? gui::run_headless(options) : gui::run_desktop(options);
  });
  if (code) return *code;
  std::cerr << render(code.error());
  return exit_code(code.error());
}
