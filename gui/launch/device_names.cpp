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
