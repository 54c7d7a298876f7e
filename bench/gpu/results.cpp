#include "bench/gpu/results.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "backend/base/bytes.h"
#include "backend/base/error.h"
#include "backend/base/whole_file.h"
#include "bench/gpu/command.h"
#include "kernels/cuda/images.h"

namespace spscope::gpu_check {
namespace {

// As the driver's tool shows it; "" without that tool.
std::string nvidia_smi(const Machine& machine, const std::string& out) {
  const std::string file = out + "/nvidia-smi.txt";
  const CommandEnd end =
      run_command({"nvidia-smi", "-i", machine.bus_id,
                   "--query-gpu=driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.limit,"
                   "temperature.gpu,ecc.mode.current,persistence_mode",
                   "--format=csv"},
                  {.output = file, .timeout_s = 20});
  return end.found && end.exit_code == 0 ? tail_of(file, 2000) : std::string();
}

// Of the kernels, which change between builds of one version.
std::string image_hash() {
  const auto image = kernels::cuda::kernel_image();
  return fmt::format("{:08x}", crc32c({reinterpret_cast<const std::uint8_t*>(image.data()), image.size()}));
}

Json machine_json(const Machine& machine, const std::string& out, bool tiny) {
  return {{"spscope", SPSCOPE_GPU_CHECK_VERSION},
          {"kernels", SPSCOPE_GPU_CHECK_COMPILER},
          {"image", image_hash()},
          {"sizes", tiny ? "tiny" : "full"},
          {"gpu", machine.gpu},
          {"uuid", machine.uuid},
          {"fake", machine.fake},
          {"compute_capability", machine.capability},
          {"multiprocessors", machine.num_sms},
          {"memory_bytes", machine.memory_bytes},
          {"host_memory_bytes", std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE)},
          {"driver", machine.driver},
          {"missing", machine.missing},
          {"nvidia_smi", machine.fake ? std::string() : nvidia_smi(machine, out)}};
}

// What two results must agree on to stand in one file.
constexpr const char* kSame[] = {"spscope", "kernels", "image", "sizes", "gpu", "uuid", "driver"};

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '|') c = ' ';
  return text;
}

}  // namespace

Json read_results(const std::string& path) {
  const std::optional<Json> held = Json::parse(text_of(path));
  if (!held || !held->contains("machine") || !held->contains("checks"))
    throw Error(ErrorCode::kOutputPlace, fmt::format("\"{}\" holds no results of gpu-check", path),
                "name a results.json, or choose another --out");
  return *held;
}

Results::Results(const std::string& out, const Machine& machine, bool tiny)
    : out_(out), machine_(machine_json(machine, out, tiny)) {
  for (const Check& check : checks())
    by_name_[std::string(check.name)] = {
        {"name", check.name}, {"summary", check.summary}, {"cost_s", check.cost_s}, {"status", "not run"}};
  const std::string path = out + "/results.json";
  if (!std::filesystem::exists(path)) return;
  const Json held = read_results(path);
  if (const Json* const gpu = held["machine"].find("gpu");
      gpu != nullptr && gpu->text().empty() && !machine.gpu.empty())
    return;
  for (const char* key : kSame) {
    const Json* const before = held["machine"].find(key);
    if (before == nullptr || before->text() != machine_[key].text())
      throw Error(ErrorCode::kOutputPlace,
                  fmt::format("\"{}\" holds results of {} \"{}\", this is \"{}\"", path, key,
                              before == nullptr ? "" : before->text(), machine_[key].text()),
                  "choose another --out");
  }
  for (const Json& row : held["checks"])
    if (row.contains("name") && row.contains("status") && (row["status"].text() != "not run"))
      by_name_[row["name"].text()] = row;
}

bool Results::has_passed(const Check& check) const {
  return by_name_.at(std::string(check.name))["status"].text() == "passed";
}

void Results::add(const Check& check, Json result, double seconds) {
  Json& row = by_name_[std::string(check.name)];
  row["seconds"] = seconds;
  for (const char* key : {"status", "reason", "figures", "facts"}) row[key] = result[key];
  write();
}

Results::Count Results::count() const {
  Count count;
  for (const Check& check : checks()) {
    const std::string& status = by_name_.at(std::string(check.name))["status"].text();
    ++(status == "passed"    ? count.passed
       : status == "failed"  ? count.failed
       : status == "skipped" ? count.skipped
                             : count.not_run);
  }
  return count;
}

void Results::write() const {
  Json list = Json::array();
  for (const Check& check : checks()) list.push_back(by_name_.at(std::string(check.name)));
  const Json all = {{"schema_version", 1}, {"machine", machine_}, {"checks", list}};
  write_whole_file(out_ + "/results.json", all.dump(2) + "\n");
  write_whole_file(out_ + "/results.md", markdown());
}

std::string Results::markdown() const {
  const auto fact = [&](const char* key) { return machine_[key].text(); };
  const Count counts = count();
  std::string text = fmt::format(
      "# GPU check\n\n{}, compute capability {}, {}; spscope {}, {}\n\n{} passed, {} failed, {} skipped, {} not run\n",
      fact("gpu").empty() ? "no GPU: " + one_line(fact("missing")) : one_line(fact("gpu")), fact("compute_capability"),
      fact("driver"), fact("spscope"), fact("kernels"), counts.passed, counts.failed, counts.skipped, counts.not_run);
  if (!fact("nvidia_smi").empty()) text += "\n```\n" + fact("nvidia_smi") + "\n```\n";
  text += "\n| check | result | seconds | why |\n| --- | --- | --- | --- |\n";
  std::string figures = "\n| check | figure | value | limit | |\n| --- | --- | --- | --- | --- |\n",
              facts = "\n| check | facts |\n| --- | --- |\n";
  for (const Check& check : checks()) {
    const Json& row = by_name_.at(std::string(check.name));
    if (row["status"].text() == "not run") {
      text += fmt::format("| {} | not run | | |\n", check.name);
      continue;
    }
    text += fmt::format("| {} | {} | {:.1f} | {} |\n", check.name, row["status"].text(), row["seconds"].number(),
                        one_line(row["reason"].text()));
    for (const Json& figure : row["figures"]) {
      const auto maybe = [&](const char* key) { return figure.contains(key) ? figure[key].text() : std::string(); };
      figures += fmt::format("| {} | {} | {} {} | {} | {} |\n", check.name, figure["name"].text(),
                             figure["value"].is_number() ? fmt::format("{:.4g}", figure["value"].number()) : "-",
                             figure["unit"].text(), maybe("limit"), maybe("verdict"));
    }
    if (row["facts"].begin() != row["facts"].end())
      facts += fmt::format("| {} | {} |\n", check.name, one_line(row["facts"].dump()));
  }
  return text + figures + facts;
}

}  // namespace spscope::gpu_check
