// The `spscope-gui` program: a window on stored runs, or pictures and numbers of it without one.
#include <iostream>
#include <string>
#include <vector>

#include "backend/base/exit_code.h"
#include "backend/base/result.h"
#include "gui/app/desktop.h"
#include "gui/app/headless.h"

int main(int argc, char** argv) {
  const auto code = spscope::capture([&] {
    const spscope::gui::Options options = spscope::gui::parse_options({argv + 1, argv + argc});
    if (options.help) {
      std::cout << spscope::gui::options_help();
      return spscope::kExitDone;
    }
    if (options.version) {
      std::cout << "spscope-gui " << SPSCOPE_VERSION << "\n";
      return spscope::kExitDone;
    }
    return options.headless() ? spscope::gui::run_headless(options) : spscope::gui::run_desktop(options);
  });
  if (code) return *code;
  std::cerr << spscope::render(code.error());
  return spscope::exit_code(code.error());
}
