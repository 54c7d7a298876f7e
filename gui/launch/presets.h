// Presets: config files to begin with. The comment at the top of a file is its description, as in samples/*.toml:
//
//   # Title of the preset. More about it, on as many lines as it takes.
//   #   spscope sweep FILE --over cluster.ranks=16,32 -o FILE.csv
//
// The command, which is indented by three blanks, says what the preset is for: run (also without such a line), advise
// or sweep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gui/launch/command_text.h"

namespace spscope::gui {

struct Preset {
  std::string name, path;  // name: of the file, without its ending
  std::string title, description;
  Task task;
};

// "" for the folder of one's own presets when there is no home.
std::string own_presets_folder();
// Of all .toml files of the folders, by the order of their names; files that cannot be read are left out.
std::vector<Preset> presets_in(const std::vector<std::string>& folders);
// What the comment at the top of a file says.
Preset described_preset(std::string_view text);

}  // namespace spscope::gui
