// `spscope gui [FILE or LINK]...`: becomes the desktop app, a program of its own, so that this one needs no display
// library.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "backend/base/ignored_signals.h"
#include "backend/cli/command.h"
#include "backend/config/environment.h"
#include "backend/launch/mpirun.h"

namespace spscope {
namespace {

constexpr const char* kApp = "spscope-gui";

struct GuiFlags {
  std::vector<std::string> links;
};

// Beside this program, else a name that is on the $PATH.
std::string path_of_app() {
  const std::string beside = std::filesystem::path(path_of_this_program()).replace_filename(kApp).string();
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  if (has_program(kApp)) return kApp;
  throw Error(ErrorCode::kLaunch,
              fmt::format("the desktop app is not installed: no program {} beside {} or on the $PATH", kApp,
                          path_of_this_program()),
              "build it with -DSPSCOPE_WITH_GUI=ON, which needs the packages of scripts/packages.txt; without it, "
              "`spscope report FILE -o PAGE.html` shows a stored run in a browser");
}

int gui(const GuiFlags& flags) {
  const std::string app = path_of_app();
  std::vector<char*> arguments = {const_cast<char*>(app.c_str())};
  for (const std::string& link : flags.links) arguments.push_back(const_cast<char*>(link.c_str()));
  arguments.push_back(nullptr);
  stop_ignoring_signals();
  ::execvp(app.c_str(), arguments.data());  // returns only when it fails
  throw Error(ErrorCode::kLaunch, fmt::format("cannot start \"{}\": {}", app, std::generic_category().message(errno)),
              "build it again, or take away what is broken");
}

}  // namespace

Command declare_gui() {
  auto flags = std::make_shared<GuiFlags>();
  Command command;
  command.flags = {{.names = "link",
                    .help = "stored runs, or links into them as the app copies them (Ctrl+L)",
                    .target = &flags->links}};
  command.action = [flags](CommandContext&) { return gui(*flags); };
  return command;
}

}  // namespace spscope
