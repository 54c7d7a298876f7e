#include "gui/views/timeline/pass_matrix.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "backend/analysis/over_ranks.h"
#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"
#include "gui/session/pass_data.h"
#include "gui/views/color_scale.h"
#include "gui/views/document_view.h"
#include "gui/views/timeline/facts.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

std::vector<RankPass> ranks_of(const RankTimes& times) {
  std::vector<RankPass> ranks;
  for (std::size_t r = 0; r < times.compute_ns.size(); ++r)
    ranks.push_back({times.compute_ns[r], times.wait_late_peer_ns[r], above_mean(times.compute_ns, r)});
  return ranks;
}

// Lines between cells that are large enough.
void draw_grid(const Ui& ui, const Rect& area, std::size_t columns, float width, std::size_t rows, float height) {
  for (std::size_t i = 1; width > ui.px(6) && i < columns; ++i) {
    const float x = area.left + static_cast<float>(i) * width;
    ui.fill({x - 1, area.top, x, area.bottom}, ui.color(Token::kSurface));
  }
  for (std::size_t i = 1; height > ui.px(6) && i < rows; ++i) {
    const float y = area.top + static_cast<float>(i) * height;
    ui.fill({area.left, y - 1, area.right, y}, ui.color(Token::kSurface));
  }
}

// "38/1" above as many columns as there is room for; of passes that share a column, the first.
void name_columns(Ui& ui, const PassMatrix& matrix, const PassColumns& columns, float left, float top, float width) {
  const auto name = [&](std::size_t column) {
    const LayerPass& pass = matrix.passes[columns.first(column)];
    return fmt::format("{}/{}", pass.layer, pass.step);
  };
  float widest = 0;
  for (std::size_t c = 0; c < columns.columns; ++c) widest = std::max(widest, ui.text_width(name(c), Face::kSmall));
  const auto every = static_cast<std::size_t>(std::max(1.F, std::ceil((widest + ui.px(8)) / width)));
  for (std::size_t c = 0; c < columns.columns; c += every)
    ui.text_at(left + static_cast<float>(c) * width, top, name(c),
               {.face = Face::kSmall, .ink = Token::kMuted, .max_width = widest + 2});
}

}  // namespace

PassMatrix load_matrix(const StoreReader& reader, const std::string& strategy_id, const Cancelled& cancelled,
                       QueryProgress& progress) {
  const std::vector<StrategyRecord> strategies = reader.strategies();
  const auto strategy = std::ranges::find(strategies, strategy_id, &StrategyRecord::id);
  if (strategy == strategies.end())
    throw Error(ErrorCode::kUsage, fmt::format("the file has no strategy \"{}\"", strategy_id),
                "choose one in the line above");
  std::vector<RunRecord> runs = reader.runs(strategy->strategy_id);
  std::ranges::stable_sort(runs, {}, [](const RunRecord& run) { return std::pair(run.denoise_step, run.layer); });
  PassMatrix matrix;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    cancelled.require_going();
    progress.fraction = static_cast<double>(i) / static_cast<double>(runs.size());
    const auto data = capture([&] { return load_pass(reader, *strategy, runs[i], {}); });
    if (!data || !data->timeline) continue;
    matrix.passes.push_back({runs[i].layer, runs[i].denoise_step});
    matrix.ranks.push_back(ranks_of(data->times));
  }
  return matrix;
}

double MatrixPicture::value(const RankPass& pass) const {
  return part_ == 0   ? static_cast<double>(pass.compute_ns)
         : part_ == 1 ? static_cast<double>(pass.wait_ns)
                      : std::max(0.0, pass.excess);
}

std::size_t MatrixPicture::shown_pass(const PassMatrix& matrix, const PassColumns& columns, std::size_t column,
                                      std::size_t rank) const {
  std::size_t most = columns.first(column);
  for (std::size_t p = most; p < columns.first(column + 1); ++p)
    if (value(matrix.ranks[p][rank]) > value(matrix.ranks[most][rank])) most = p;
  return most;
}

void MatrixPicture::paint(const std::shared_ptr<const PassMatrix>& matrix, const PassColumns& columns) {
  std::tuple now(matrix, part_, columns.columns);
  if (now == painted_) return;
  painted_ = std::move(now);
  most_ = 0;
  for (const auto& ranks : matrix->ranks)
    for (const RankPass& pass : ranks) most_ = std::max(most_, value(pass));
  const std::size_t num_ranks = matrix->ranks.front().size();
  std::vector<std::uint32_t> texels(columns.columns * num_ranks);
  for (std::size_t r = 0; r < num_ranks; ++r)
    for (std::size_t c = 0; c < columns.columns; ++c) {
      const double shown = value(matrix->ranks[shown_pass(*matrix, columns, c, r)][r]);
      texels[r * columns.columns + c] = Ui::color(density_color(most_ > 0 ? shown / most_ : 0));
    }
  texture_.set(static_cast<int>(columns.columns), static_cast<int>(num_ranks), texels);
}

// What the colours of the part that is shown mean.
void MatrixPicture::draw_scale(Ui& ui) const {
  if (part_ == 2)
    draw_color_scale(ui, "compute over the mean of the ranks", "0 % or less", percent_text(most_));
  else
    draw_color_scale(ui, part_ == 0 ? "compute" : "late peer", duration(0), duration_text(most_));
}

void MatrixPicture::draw(Ui& ui, Session& session, const Chosen& chosen) {
  slot_.ask(session.workers(), fmt::format("{}\n{}\n{}", chosen.file->path, chosen.file->generation, chosen.key.id),
            [path = chosen.file->path, generation = chosen.file->generation, id = chosen.key.id](
                Readers& readers, const Cancelled& cancelled, QueryProgress& progress) {
              return load_matrix(readers.of(path, generation), id, cancelled, progress);
            });
  static const std::vector<std::string> kParts = {"compute", "late peer", "excess"};
  ui.segments("part", kParts, part_);
  ui.same_line(16);
  ui.text(chosen.label + ": ranks down; layer passes across, named layer/denoise step",
          {.face = Face::kSmall, .ink = Token::kMuted, .beside = true});
  draw_loading(ui, "loading", slot_, "Reading all layer passes");
  // That of another strategy would lead to passes of this one.
  const std::shared_ptr<const PassMatrix> matrix = slot_.current() ? slot_.share() : nullptr;
  if (matrix == nullptr || matrix->passes.empty()) return;
  const std::size_t num_ranks = matrix->ranks.front().size();
  const float left = ui.px(64), room = std::max(ui.px(64), ui.width_left() - left);
  const PassColumns columns{matrix->passes.size(),
                            std::min(matrix->passes.size(), static_cast<std::size_t>(room / ui.px(3)))};
  paint(matrix, columns);
  draw_scale(ui);
  const ImVec2 corner = ImGui::GetCursorScreenPos(), from{corner.x, corner.y + ui.px(18)};
  const float width = std::min(room / static_cast<float>(columns.columns), ui.px(64));
  const float height =
      std::clamp((ui.height_left() - ui.px(18)) / static_cast<float>(num_ranks + 1), ui.px(3), ui.px(24));
  name_columns(ui, *matrix, columns, corner.x + left, corner.y, width);
  for (std::size_t r = 0; r < num_ranks && height >= ui.px(12); ++r)
    ui.text_at(from.x, from.y + static_cast<float>(r) * height + ui.px(2), fmt::format("rank {}", r),
               {.face = Face::kSmall, .ink = Token::kMuted, .max_width = left});
  const Rect area{from.x + left, from.y, from.x + left + width * static_cast<float>(columns.columns),
                  from.y + height * static_cast<float>(num_ranks)};
  const Hit hit = ui.target("matrix", area, {.kind = "area", .ring = false});
  if (texture_.name() != 0)
    ui.draw_list().AddImage(texture_id(texture_.name()), {area.left, area.top}, {area.right, area.bottom});
  draw_grid(ui, area, columns.columns, width, num_ranks, height);
  for (std::size_t p = 0; ui.is_dumped() && p < columns.passes; ++p)
    for (std::size_t r = 0; r < num_ranks; ++r) {
      const float x = area.left + static_cast<float>(columns.column(p)) * width;
      const float y = area.top + static_cast<float>(r) * height;
      ui.mark(fmt::format("cell {} {} rank {}", matrix->passes[p].layer, matrix->passes[p].step, r),
              {x, y, x + width - 1, y + height - 1}, fmt::format("{}", value(matrix->ranks[p][r])));
    }
  ImGui::Dummy({area.right - from.x, area.height() + ui.px(18)});
  const ImVec2 mouse = ImGui::GetMousePos();
  if (!hit.hovered || !area.holds(mouse.x, mouse.y)) return;
  const std::size_t column = std::min(columns.columns - 1, static_cast<std::size_t>((mouse.x - area.left) / width));
  const std::size_t rank = std::min(num_ranks - 1, static_cast<std::size_t>((mouse.y - area.top) / height));
  const std::size_t p = shown_pass(*matrix, columns, column, rank);
  const RankPass& cell = matrix->ranks[p][rank];
  ui.tooltip(fmt::format("rank {}, layer {}, denoise step {}: compute {} ({} over the mean), late peer {}", rank,
                         matrix->passes[p].layer, matrix->passes[p].step, duration(cell.compute_ns),
                         percent_text(cell.excess), duration(cell.wait_ns)));
  if (!hit.clicked) return;
  Link link = session.here();
  link.scope.layer = matrix->passes[p].layer;
  link.scope.step = matrix->passes[p].step;
  link.selection.strategy = chosen.key;
  link.selection.rank = static_cast<int>(rank);
  link.selection.op.reset();
  session.go(link);
}

}  // namespace spscope::gui
