// `spscope check FOLDER`: whether outputs of attention in files are attention, and which known fault gives those that
// are not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "backend/base/json.h"
#include "backend/base/number_text.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/job/check_outputs.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

constexpr int kMostParts = 1024, kMostMaskBlock = 384;

// "0 to 5, 8": neighbours in `all` are one range; of many ranges the first few.
std::string off_text(const std::vector<std::int64_t>& off, const std::vector<std::int64_t>& all) {
  if (off.size() == all.size()) return "all";
  constexpr int kMostRanges = 3;
  std::string text;
  int ranges = 0;
  for (std::size_t i = 0; i < off.size();) {
    std::size_t last = i;
    const auto at = std::ranges::find(all, off[i]);
    while (last + 1 < off.size() && *(at + static_cast<std::ptrdiff_t>(last + 1 - i)) == off[last + 1]) ++last;
    if (++ranges > kMostRanges) return text + ", ...";
    text +=
        (text.empty() ? "" : ", ") + (last == i ? fmt::to_string(off[i]) : fmt::format("{} to {}", off[i], off[last]));
    i = last + 1;
  }
  return text;
}

std::string row_error_text(double error) { return std::isfinite(error) ? fmt::format("{:.1e}", error) : "infinite"; }

std::string checked_heading(const CheckedAttention& a, bool all_rows) {
  const std::int64_t every = std::int64_t{a.sequences} * a.tokens;
  std::string text = fmt::format("{}{}: {} heads of {} channels, {} tokens", a.folder,
                                 a.suffix.empty() ? "" : fmt::format(" ({})", a.suffix.substr(1)), a.heads, a.head_dim,
                                 count_text(a.tokens));
  if (a.kv_heads != a.heads) text += fmt::format(", k and v of {} heads", a.kv_heads);
  if (a.sequences > 1) text += fmt::format(" in each of {} sequences", count_text(a.sequences));
  text += a.density < 1 ? fmt::format(", mask of density {:.3f}", a.density) : ", no mask or a full one";
  const double rows = static_cast<double>(a.places * a.heads);
  if (all_rows || a.places == every) return text + fmt::format("; all {} rows compared", count_text(rows));
  return text + fmt::format("; {} of {} rows compared, --all-rows takes all", count_text(rows),
                            count_text(static_cast<double>(every * a.heads)));
}

std::string output_verdict(const CheckedOutput& o) {
  if (o.rows_off > 0) return "wrong";
  return o.rows_unjudged == o.rows ? "not judged" : "right";
}

// What is said of an output that is not right, or that could not be judged in full.
std::string output_sentences(const CheckedOutput& o) {
  std::string text;
  for (const KnownFault& fault : o.faults) {
    if (!fault.fits)
      text += "No known fault gives these rows. The nearest is that ";
    else if (!text.empty())
      text += "It may also be that ";
    text += fault.text + ". ";
    if (std::isfinite(fault.left))
      text +=
          fmt::format("The largest error against the reference with this fault is {}. ", row_error_text(fault.left));
  }
  if (o.rows_off > 0 && o.faults.empty()) text += "No known fault gives these rows. ";
  if (o.passes_as_fp16)
    text += "It would pass as fp16: see whether q, k, v or products were rounded, as TF32 does (--dtype fp16). ";
  else if (o.passes_as_bf16)
    text += "It would pass as bf16: see whether q, k, v or products were rounded (--dtype bf16). ";
  if (o.rows_unjudged > 0)
    text += fmt::format("{} rows are not judged: their scores are too large for fp32. ",
                        count_text(static_cast<double>(o.rows_unjudged)));
  if (!text.empty()) text.pop_back();
  return text;
}

void print_checked(CommandContext& context, const CheckedAttention& a, bool all_rows) {
  std::vector<std::int64_t> all_heads, all_tokens = a.tokens_compared;
  for (int h = 0; h < a.heads; ++h) all_heads.push_back(h);
  Table table{.caption = "",
              .columns = {text_column("output"),
                          text_column("verdict"),
                          text_column("judged as"),
                          {.heading = "rows off"},
                          text_column("heads"),
                          text_column("tokens"),
                          {.heading = "largest error"},
                          {.heading = "allowed"}},
              .rows = {}};
  for (const CheckedOutput& o : a.outputs)
    table.rows.push_back(
        {.cells = {text_cell(o.name), text_cell(output_verdict(o)), text_cell(std::string(output_type_name(o.type))),
                   text_cell(count_text(static_cast<double>(o.rows_off))),
                   text_cell(o.rows_off > 0 ? off_text(o.heads_off, all_heads) : ""),
                   text_cell(o.rows_off > 0 ? off_text(o.tokens_off, all_tokens) : ""),
                   text_cell(row_error_text(o.largest_error)), text_cell(row_error_text(o.allowed))}});
  context.out << wrapped_text(checked_heading(a, all_rows), text_width()) << '\n'
              << render_terminal(table, {.color = context.color, .width = text_width()});
  for (const CheckedOutput& o : a.outputs)
    if (const std::string text = output_sentences(o); !text.empty())
      context.out << '\n' << wrapped_text(fmt::format("{}: {}", o.name, text), text_width());
}

Json checked_json(const CheckedAttention& a) {
  Json outputs = Json::array();
  for (const CheckedOutput& o : a.outputs) {
    Json faults = Json::array();
    for (const KnownFault& f : o.faults)
      faults.push_back({{"id", f.id}, {"text", f.text}, {"left", f.left}, {"fits", f.fits}});
    outputs.push_back({{"name", o.name},
                       {"verdict", output_verdict(o)},
                       {"judged_as", output_type_name(o.type)},
                       {"rows", o.rows},
                       {"rows_off", o.rows_off},
                       {"rows_unjudged", o.rows_unjudged},
                       {"max_error", o.max_error},
                       {"largest_error", o.largest_error},
                       {"allowed", o.allowed},
                       {"worst", {{"sequence", o.worst.sequence}, {"token", o.worst.token}, {"head", o.worst_head}}},
                       {"heads_off", o.heads_off},
                       {"tokens_off", o.tokens_off},
                       {"passes_as", o.passes_as_fp16   ? Json("fp16")
                                     : o.passes_as_bf16 ? Json("bf16")
                                                        : Json()},
                       {"faults", faults}});
  }
  return {{"folder", a.folder},       {"attention", a.suffix},  {"heads", a.heads},
          {"kv_heads", a.kv_heads},   {"head_dim", a.head_dim}, {"tokens", a.tokens},
          {"sequences", a.sequences}, {"density", a.density},   {"outputs", outputs}};
}

int check_folder(CommandContext& context, CheckRequest& request) {
  request.max_bytes = context.max_memory_bytes;
  const std::vector<CheckedAttention> checked = check_outputs(request);
  const bool passed = std::ranges::all_of(checked, &CheckedAttention::passed);
  if (context.json) {
    Json all = Json::array();
    for (const CheckedAttention& a : checked) all.push_back(checked_json(a));
    const Json document = {
        {"schema_version", 1}, {"error_metric", "row_nmse"}, {"passed", passed}, {"attentions", all}};
    context.out << document.sorted().dump(2) << '\n';
    return passed ? kExitDone : kExitFailed;
  }
  for (const CheckedAttention& a : checked) {
    if (&a != &checked.front()) context.out << '\n';
    print_checked(context, a, request.all_rows);
  }
  return passed ? kExitDone : kExitFailed;
}

}  // namespace

Command declare_check() {
  auto request = std::make_shared<CheckRequest>();
  Command command;
  command.flags = {
      {.names = "folder",
       .help = "what run --dump wrote, or a folder with q.npy, k.npy, v.npy and o-NAME.npy",
       .target = &request->folder,
       .required = true},
      {.names = "--dtype",
       .help = "how outputs were computed, which decides what is allowed; auto: by their numbers",
       .target = &request->dtype,
       .rule = OneOf{{"auto", "fp32", "fp16", "bf16"}}},
      {.names = "--parts",
       .help = "parts that the keys are cut into, as by the degree of a ring; faults are looked for with these",
       .target = &request->parts,
       .rule = IntegerBetween{2, kMostParts},
       .default_text = "2 to 8, and 16",
       .delimiter = ','},
      {.names = "--text-tokens",
       .help = "tokens of the text at the end of each sequence; by default as layer.json says, else none",
       .target = &request->text_tokens,
       .rule = IntegerBetween{0, 1 << 30}},
      {.names = "--text-first", .help = "the text is at the beginning", .target = &request->text_first},
      {.names = "--block",
       .help = "tokens of the blocks of a mask without borders; 1: a mask of single tokens",
       .target = &request->block,
       .rule = IntegerBetween{1, kMostMaskBlock}},
      {.names = "--all-rows", .help = "compare all rows, not a sample of large ones", .target = &request->all_rows},
  };
  command.action = [request](CommandContext& context) { return check_folder(context, *request); };
  return command;
}

}  // namespace spscope
