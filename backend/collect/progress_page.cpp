#include "backend/collect/progress_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <span>
#include <string_view>

#include "backend/base/bytes.h"
#include "backend/base/clock.h"
#include "backend/base/json.h"
#include "backend/base/regular_file.h"
#include "backend/base/utf8.h"

namespace spscope {
namespace {

// The page: CRC-32C of the rest in 8 hexadecimal digits, a space, an object, and spaces up to the last byte.
constexpr std::size_t kBytes = 2048, kSumDigits = 8;

std::string sum_of(std::string_view text) {
  return fmt::format("{:08x}", crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

// With as much of the cause as the page holds.
std::string page_of(const RunProgress& progress) {
  constexpr std::size_t kText = kBytes - kSumDigits, kLongestEscape = 6;
  Json object = progress_json(progress);
  object["cause_rank"] = progress.cause_rank;
  object["cause_id"] = progress.cause_id;
  object["exit_code"] = progress.exit_code ? Json(*progress.exit_code) : Json();
  object["said_ns"] = progress.said_ns;
  std::string text;
  std::string_view cause = first_characters(progress.cause, kText);
  for (;;) {
    object["cause"] = cause;
    text = " " + object.dump();
    if (text.size() <= kText || cause.empty()) break;
    const std::size_t cut = (text.size() - kText + kLongestEscape - 1) / kLongestEscape;
    cause = first_characters(cause, cause.size() - std::min(cause.size(), cut));
  }
  text.resize(std::max(text.size(), kText), ' ');
  return sum_of(text) + text;
}

// Nothing when a value is missing or of another type: a page of another version.
std::optional<RunProgress> parse_page(const std::string& text) {
  const std::optional<Json> object = Json::parse(text);
  if (!object) return std::nullopt;
  RunProgress p;
  for (const auto& [name, value] : {std::pair{"phase", &p.phase},
                                    {"strategy", &p.strategy},
                                    {"label", &p.label},
                                    {"cause", &p.cause},
                                    {"cause_id", &p.cause_id}}) {
    const Json* found = object->find(name);
    if (found == nullptr || !found->is_text()) return std::nullopt;
    *value = found->text();
  }
  for (const auto& [name, value] : {std::pair{"strategies", &p.strategies},
                                    {"layer", &p.layer},
                                    {"layers", &p.layers},
                                    {"denoise_step", &p.denoise_step},
                                    {"denoise_steps", &p.denoise_steps},
                                    {"warmup", &p.warmups_done},
                                    {"warmups", &p.warmups},
                                    {"repeat", &p.repeat},
                                    {"repeats", &p.repeats},
                                    {"ranks_measured", &p.ranks_measured},
                                    {"ranks_to_measure", &p.ranks_to_measure},
                                    {"done", &p.done},
                                    {"total", &p.total},
                                    {"shards", &p.shards},
                                    {"cause_rank", &p.cause_rank}}) {
    const Json* found = object->find(name);
    const auto number = found == nullptr ? std::nullopt : found->integer(INT_MIN, INT_MAX);
    if (!number) return std::nullopt;
    *value = static_cast<int>(*number);
  }
  const Json *elapsed = object->find("elapsed_s"), *said = object->find("said_ns");
  if (elapsed == nullptr || !elapsed->is_number() || said == nullptr || !said->integer()) return std::nullopt;
  p.elapsed_s = elapsed->number();
  p.said_ns = *said->integer();
  // Null, or not there, while they are not known.
  if (const Json* eta = object->find("eta_s"); eta != nullptr && eta->is_number()) p.eta_s = eta->number();
  const auto known = [&](const char* key) {
    const Json* found = object->find(key);
    return found == nullptr ? std::nullopt : found->integer(INT_MIN, INT_MAX);
  };
  p.strategy_number = static_cast<int>(known("strategy_number").value_or(0));
  if (const auto code = known("exit_code")) p.exit_code = static_cast<int>(*code);
  return p;
}

// Tries again while somebody writes.
std::optional<RunProgress> read_page(int file) {
  constexpr int kTries = 5;
  std::string page(kBytes, '\0');
  for (int i = 0; file >= 0 && i < kTries; ++i) {
    const ssize_t read = ::pread(file, page.data(), page.size(), 0);
    if (read != static_cast<ssize_t>(kBytes)) return std::nullopt;
    const std::string text = page.substr(kSumDigits);
    if (page.compare(0, kSumDigits, sum_of(text)) != 0) continue;
    return parse_page(text);
  }
  return std::nullopt;
}

void close_file(int file) {
  if (file >= 0) ::close(file);
}

}  // namespace

ProgressPage::ProgressPage(const std::string& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {}
ProgressPage::~ProgressPage() { close_file(file_); }

void ProgressPage::write(const RunProgress& progress) const {
  const std::string page = page_of(progress);
  if (file_ >= 0 && page.size() == kBytes && ::pwrite(file_, page.data(), page.size(), 0) < 0) return;  // not said
}

std::optional<RunProgress> ProgressPage::read() const { return read_page(file_); }

RunProgress ProgressPage::now() const {
  const std::optional<RunProgress> said = read();
  if (said) return moved_on(*said, now_ns());
  RunProgress nothing;
  nothing.said_ns = now_ns();
  return nothing;
}

void ProgressPage::set_cause(const std::string& cause, int rank, const std::string& id) const {
  RunProgress progress = now();
  progress.cause = cause;
  progress.cause_rank = rank;
  progress.cause_id = id;
  write(progress);
}

void ProgressPage::set_end(int exit_code) const {
  RunProgress progress = now();
  progress.exit_code = exit_code;
  if (exit_code == 0) progress.phase = "done";
  write(progress);
}

ProgressReader::~ProgressReader() { close_file(file_); }

std::optional<RunProgress> ProgressReader::read() {
  if (file_ < 0) file_ = RegularFile(path_).release();
  return read_page(file_);
}

}  // namespace spscope
