// now_lines PAGE: prints what each lane did when its process was killed, as JSON, from the now page that it left.
#include <iostream>
#include <nlohmann/json.hpp>

#include "backend/base/error.h"
#include "backend/record/now_page.h"

int main(int argc, char** argv) try {
  nlohmann::json lines = nlohmann::json::array();
  for (const spscope::NowPage::Line& line : spscope::read_now_page(argc > 1 ? argv[1] : "").lines)
    lines.push_back({{"rank", line.rank},
                     {"lane", line.lane},
                     {"whole", line.whole},
                     {"op", line.now.inside_op() && line.now.repeat >= 0 ? static_cast<std::int64_t>(line.now.op) : -1},
                     {"sent", line.now.sent},
                     {"dropped", line.now.dropped}});
  std::cout << lines << '\n';
} catch (const spscope::Error& error) {
  std::cerr << spscope::render(error);
  return 1;
}
