#include "gui/launch/device_names.h"

#include <algorithm>
#include <vector>

namespace spscope::gui {
namespace {

constexpr std::string_view kAt = " at ";
constexpr std::string_view kBetween = ":.";  // the parts of a place: domain, bus, device, function

std::string_view place_in(std::string_view device) {
  device.remove_prefix(without_place(device).size());
  return device.substr(std::min(device.size(), kAt.size()));
}

// Without the parts that all places have in common, at the front and at the end.
std::vector<std::string_view> what_differs(std::vector<std::string_view> places) {
  const auto same = [&](auto part) {
    return std::ranges::all_of(places, [&](std::string_view p) { return part(p) == part(places.front()); });
  };
  const auto head = [](std::string_view p) { return p.substr(0, p.find_first_of(kBetween)); };
  const auto tail = [](std::string_view p) { return p.substr(p.find_last_of(kBetween) + 1); };
  const auto has_parts = [&] {
    return std::ranges::all_of(places,
                               [](std::string_view p) { return p.find_first_of(kBetween) != std::string_view::npos; });
  };
  while (has_parts() && same(head))
    for (std::string_view& place : places) place.remove_prefix(head(place).size() + 1);
  while (has_parts() && same(tail))
    for (std::string_view& place : places) place.remove_suffix(tail(place).size() + 1);
  return places;
}

}  // namespace

std::string_view without_place(std::string_view device) { return device.substr(0, device.find(kAt)); }

std::string short_track_name(std::string_view name) {
  constexpr std::string_view kBegin = "NCCL 0x", kDigits = "0123456789abcdef";
  constexpr std::size_t kShownDigits = 4;
  if (!name.starts_with(kBegin)) return std::string(name);
  std::string_view rest = name.substr(kBegin.size());
  std::string_view hash = rest.substr(0, rest.find_first_not_of(kDigits));
  rest.remove_prefix(hash.size());
  hash.remove_prefix(hash.size() - std::min(hash.size(), kShownDigits));
  // " rank 3 of 8 (tp) error of device times": each part may be missing.
  std::string_view ranks = rest.substr(0, rest.find_first_not_of(" rankof0123456789"));
  rest.remove_prefix(ranks.size());
  std::string_view called = hash;
  if (const std::size_t end = rest.find(')'); rest.starts_with('(') && end != std::string_view::npos) {
    called = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  }
  const auto trimmed = [](std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(' ') - first + 1);
  };
  const std::string made = "NCCL " + std::string(called);
  if (const std::string_view told = trimmed(rest); !told.empty()) return made + ": " + std::string(told);
  return trimmed(ranks).empty() ? made : made + ", " + std::string(trimmed(ranks));
}

std::string_view short_process_name(std::string_view process) {
  const std::size_t open = process.rfind("(process ");
  if (open == std::string_view::npos || !process.ends_with(')')) return process;
  return process.substr(open + 1, process.size() - open - 2);
}

DeviceNames::DeviceNames(const std::set<std::string>& devices) {
  std::map<std::string_view, std::vector<std::string_view>> of_number;
  for (const std::string& device : devices) of_number[without_place(device)].push_back(device);
  for (const auto& [number, all] : of_number) {
    std::vector<std::string_view> places;
    for (const std::string_view device : all) places.push_back(place_in(device));
    if (all.size() > 1) places = what_differs(std::move(places));
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::string& name = names_[std::string(all[i])] = number;
      if (all.size() > 1 && !places[i].empty()) name.append(kAt).append(places[i]);
    }
  }
}

std::optional<std::string> DeviceNames::of(const std::optional<std::string>& device) const {
  if (!device) return std::nullopt;
  const auto found = names_.find(*device);
  return found != names_.end() ? found->second : *device;
}

}  // namespace spscope::gui
