// Writes the config of each time of a table such as end_to_end.csv: `spscope run CONFIG` then predicts that time.
//
//   measured_configs TABLE.csv FOLDER    FOLDER/ID.toml for each row that is not left out; FOLDER is made, with
//                                        clusters/NAME.toml for each machine without a preset
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "backend/fit/row_config.h"

namespace spscope {
namespace {

std::string config_text(const ConfigKeys& keys, const TimingRow& row) {
  std::string text = fmt::format("# {}: {} on {} x {}\n", row.id, row.model, row.gpus, row.gpu), section;
  for (const auto& [key, value] : keys) {
    const std::size_t dot = key.find('.');
    if (key.substr(0, dot) != section) text += fmt::format("\n[{}]\n", section = key.substr(0, dot));
    const bool number = value.find_first_not_of("0123456789") == value.npos;
    if (key == "model.grid")
      text += fmt::format("grid = [{}]\n", value);
    else if (key == "run.strategies")
      text += fmt::format("strategies = [\"{}\"]\n", value);
    else
      text += fmt::format("{} = {}\n", key.substr(dot + 1), number ? value : "\"" + value + "\"");
  }
  return text;
}

int write_configs(const std::filesystem::path& table, const std::filesystem::path& folder) {
  const Result<std::vector<TimingRow>> rows = read_timing_rows(table.string());
  if (!rows) throw rows.error();
  std::filesystem::create_directories(folder);
  int written = 0;
  for (const TimingRow& row : *rows) {
    if (!row.left_out.empty()) continue;
    write_cluster_of(row, folder.string());
    const std::filesystem::path file = folder / (row.id + ".toml");
    if (!(std::ofstream(file) << config_text(row_config(row), row) << std::flush))
      throw Error(ErrorCode::kOutputPlace, fmt::format("cannot write the file: {}", file.string()));
    ++written;
  }
  std::cout << fmt::format("wrote {} configs to {}\n", written, folder.string());
  return 0;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: measured_configs TABLE.csv FOLDER\n";
    return 2;
  }
  const spscope::Result<int> done = spscope::capture([&] { return spscope::write_configs(argv[1], argv[2]); });
  if (!done) std::cerr << spscope::render(done.error());
  return done ? *done : 1;
}
