#include "backend/collect/loss_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "backend/base/json.h"
#include "backend/base/regular_file.h"

namespace spscope {
namespace {

// An object and blanks: some 300 processes.
constexpr std::size_t kLossBytes = 64 << 10;

std::string loss_path(const CollectingNote& note) { return fmt::format("{}/{}.lost", note.folder, note.stem); }

Json incident_json(const IncidentRecord& incident) { return {{"rank", incident.rank}, {"message", incident.message}}; }

}  // namespace

LossFile::LossFile(const CollectingNote& note)
    : file_(::open(loss_path(note).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {
  // The blocks: what is written into them later needs no more.
  if (file_ >= 0) static_cast<void>(::posix_fallocate(file_, 0, kLossBytes));
}

LossFile::~LossFile() {
  if (file_ >= 0) ::close(file_);
}

void LossFile::write(const Losses& losses) const {
  constexpr std::size_t kOfOthers = 256;  // for the last incident
  Json incidents = Json::array();
  std::size_t bytes = kOfOthers, left = losses.incidents.size();
  for (const IncidentRecord& incident : losses.incidents) {
    const Json one = incident_json(incident);
    bytes += one.dump().size() + 1;
    if (bytes > kLossBytes) break;
    incidents.push_back(one);
    --left;
  }
  if (left > 0) {
    IncidentRecord others;
    others.message = fmt::format("the shards of {} more processes could not be written either", left);
    incidents.push_back(incident_json(others));
  }
  const Json object = {{"events", losses.events}, {"incidents", incidents}};
  std::string text = object.dump();
  text.resize(kLossBytes, ' ');
  for (std::size_t done = 0; file_ >= 0 && done < text.size();) {
    const ssize_t written = ::pwrite(file_, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
}

Losses read_losses(const CollectingNote& note) {
  Losses losses;
  RegularFile file(loss_path(note));
  const std::optional<Json> object = file.is_open() ? Json::parse(file.read(kLossBytes).value_or("")) : std::nullopt;
  const Json* const events = object ? object->find("events") : nullptr;
  const Json* const incidents = object ? object->find("incidents") : nullptr;
  if (events == nullptr || !events->integer() || incidents == nullptr || !incidents->is_array()) return losses;
  losses.events = *events->integer();
  for (const Json& one : *incidents) {
    IncidentRecord& incident = losses.incidents.emplace_back();
    const Json* const rank = one.find("rank");
    incident.rank = rank == nullptr ? -1 : static_cast<int>(rank->integer(-1, INT32_MAX).value_or(-1));
    incident.kind = IncidentKind::kLost;
    incident.message = one.text_or("message", "");
  }
  return losses;
}

}  // namespace spscope
