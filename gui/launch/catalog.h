// Catalog: strategies and mask patterns with their parameters, as `spscope list --json` has them. The window links no
// strategy: it asks the program that will run them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/base/json.h"

namespace spscope::gui {

struct CatalogParameter {
  std::string name, key;                   // "ulysses", "strategy.usp.ulysses"
  std::string type, fallback, unit, help;  // fallback: its default
  std::vector<std::string> choices;
};
struct CatalogRow {
  std::string name, summary;
  std::vector<CatalogParameter> parameters;
};
struct Catalog {
  std::vector<CatalogRow> strategies, patterns;

  // The parameter of a key; nullptr for none.
  const CatalogParameter* parameter(std::string_view key) const;
};

// Rows of the list that `spscope list strategies --json` (patterns) prints.
std::vector<CatalogRow> catalog_rows(const Json& list);

}  // namespace spscope::gui
