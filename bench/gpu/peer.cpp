#include "bench/gpu/peer.h"

#include "backend/base/error.h"
#include "backend/base/json.h"

namespace spscope::gpu_check {

namespace {

std::vector<std::string> command_of(const CheckContext& context, const Heads& heads, int tokens, int block,
                                    std::span<const std::string> masks) {
  std::vector<std::string> command = {context.python, context.scripts + "/attention_peer.py",
                                      std::to_string(heads.heads), std::to_string(tokens),
                                      std::to_string(heads.head_dim)};
  if (!masks.empty()) command.push_back(std::to_string(block));
  command.insert(command.end(), masks.begin(), masks.end());
  return command;
}

}  // namespace

AttentionPeer::AttentionPeer(const CheckContext& context, const Heads& heads, int tokens, int block,
                             std::span<const std::string> masks)
    : error_file_(context.out + "/attention_peer.txt"),
      conversation_(command_of(context, heads, tokens, block, masks), error_file_) {
  const std::optional<Json> hello = Json::parse(answer_or_fail());
  if (hello && hello->contains("versions")) {
    versions_ = (*hello)["versions"].text();
    without_ = (*hello)["without"].text();
    for (const Json& backend : (*hello)["backends"]) backends_.insert(backend.text());
  } else {
    missing_ = hello && hello->contains("missing") ? (*hello)["missing"].text() : "the peer's answer is not understood";
  }
}

std::string AttentionPeer::answer_or_fail() {
  if (const std::optional<std::string> line = conversation_.read_line()) return *line;
  throw Error(ErrorCode::kUnavailable, "attention_peer.py ended early: " + tail_of(error_file_));
}

double AttentionPeer::run_ms(const std::string& backend) {
  conversation_.write_line(backend);
  const std::optional<Json> answer = Json::parse(answer_or_fail());
  if (!answer || !answer->contains("ms")) throw Error(ErrorCode::kUnavailable, "attention_peer.py answers without ms");
  return (*answer)["ms"].number();
}

}  // namespace spscope::gpu_check
