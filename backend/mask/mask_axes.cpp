#include "backend/mask/mask_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {
namespace {

constexpr std::string_view kNames[] = {"steps", "layers", "batch", "heads", "q", "k"};  // by MaskAxis

// "2 layers", "batch of 2", "8 x 16 blocks"; "" of k, which is told with q.
std::string extent_text(std::size_t axis, std::int64_t extent, std::int64_t keys) {
  switch (static_cast<MaskAxis>(axis)) {
    case MaskAxis::kBatch:
      return fmt::format("batch of {}", extent);
    case MaskAxis::kQ:
      return fmt::format("{} x {} blocks", extent, keys);
    case MaskAxis::kK:
      return "";
    default: {
      const std::string_view name = kNames[axis];
      return fmt::format("{} {}", extent, extent == 1 ? name.substr(0, name.size() - 1) : name);
    }
  }
}

std::string usual(std::size_t dimensions, bool lists) {
  switch (dimensions) {
    case 2:
      return "q,k";
    case 3:
      return "heads,q,k";
    case 4:
      return lists ? "batch,heads,q,k" : "layers,heads,q,k";
    case 5:
      return lists ? "layers,batch,heads,q,k" : "steps,layers,heads,q,k";
    case 6:
      return "steps,layers,batch,heads,q,k";
    default:
      return "";
  }
}

std::vector<std::size_t> parsed(const std::string& text) {
  std::vector<std::size_t> axes;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    axes.push_back(static_cast<std::size_t>(std::ranges::find(kNames, word) - std::begin(kNames)));
  return axes;
}

}  // namespace

MaskAxes mask_axes(const Array& array, const std::string& path, const std::string& said, bool lists) {
  const std::vector<std::int64_t>& shape = array.shape;
  const auto refuse = [&](const std::string& hint) {
    throw Error(ErrorCode::kMaskShape,
                fmt::format("{} has the shape {}", place_of(path, array.name), shape_text(shape)), hint);
  };
  const std::string names = said.empty() ? usual(shape.size(), lists) : said;
  const std::vector<std::size_t> axes = parsed(names);
  if (names.empty()) refuse("a mask is [heads, q, k], with dimensions of layers, steps or a batch in front");
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] == std::size(kNames) || std::ranges::count(axes, axes[i]) > 1)
      refuse(fmt::format("the axes \"{}\" are not of steps, layers, batch, heads, q and k, each at most once", names));
  if (axes.size() != shape.size() || !names.ends_with("q,k"))
    refuse(fmt::format("the axes \"{}\" do not fit it: name each dimension, q and k last", names));
  MaskAxes result;
  const std::string batched = usual(shape.size(), true);
  if (said.empty() && batched != names && shape[shape.size() - 4] > 1) result.with_batch = batched;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] < 1 || shape[i] > INT32_MAX) refuse("each dimension of a mask is from 1 to 2^31 - 1");
    result.extent[axes[i]] = shape[i];
    result.stride[axes[i]] = stride;
    stride *= shape[i];
    const std::string text = extent_text(axes[i], shape[i], shape.back());
    result.text = fmt::format("{}{}{}", text, text.empty() || result.text.empty() ? "" : ", ", result.text);
  }
  return result;
}

}  // namespace spscope
