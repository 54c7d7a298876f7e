#include "gui/launch/catalog.h"

namespace spscope::gui {
namespace {

std::string value_text(const Json* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_text() ? value->text() : value->dump();
}

}  // namespace

std::vector<CatalogRow> catalog_rows(const Json& list) {
  std::vector<CatalogRow> rows;
  for (const Json& one : list) {
    CatalogRow& row = rows.emplace_back();
    row.name = one.text_or("name", "");
    row.summary = one.text_or("summary", "");
    const Json* parameters = one.find("parameters");
    if (parameters == nullptr) continue;
    for (const Json& p : *parameters) {
      CatalogParameter& parameter = row.parameters.emplace_back();
      parameter.name = p.text_or("name", "");
      parameter.key = p.text_or("key", "");
      parameter.type = p.text_or("type", "");
      parameter.unit = p.text_or("unit", "");
      parameter.help = p.text_or("help", "");
      parameter.fallback = value_text(p.find("default"));
      if (const Json* choices = p.find("choices"))
        for (const Json& choice : *choices) parameter.choices.push_back(choice.text());
      if (parameter.type == "boolean") parameter.choices = {"false", "true"};
    }
  }
  return rows;
}

const CatalogParameter* Catalog::parameter(std::string_view key) const {
  for (const std::vector<CatalogRow>* rows : {&strategies, &patterns})
    for (const CatalogRow& row : *rows)
      for (const CatalogParameter& parameter : row.parameters)
        if (parameter.key == key) return &parameter;
  return nullptr;
}

}  // namespace spscope::gui
