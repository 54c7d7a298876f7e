#include "backend/job/combine_passes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "backend/base/check.h"
#include "backend/base/ids.h"
#include "backend/base/median.h"
#include "backend/strategies/combine_guidance.h"
#include "kernels/layer.h"

namespace spscope {
namespace {

// The largest normalised error of a token's prediction that passes: fp32 rounds some ten times, bf16 once more.
constexpr double kToleranceFp32 = 1e-10, kToleranceBf16 = 5e-5;

// Shape of predictions beside each other.
struct Shape {
  std::int64_t batch, passes, channels, tokens;
  std::size_t of(std::int64_t entry, std::int64_t pass, std::int64_t channel, std::int64_t token) const {
    return at(((entry * passes + pass) * channels + channel) * tokens + token);
  }
  std::int64_t size() const { return batch * passes * channels * tokens; }
};

Shape shape_of(const Model& model) { return {model.batch, model.cfg, model.prediction_channels, model.video_tokens()}; }

// Element of channel `channel` of a token in an output.
std::size_t element(const Request& pass, const OutputTensor& output, std::int64_t entry, std::int64_t channel,
                    std::int64_t token) {
  const std::int64_t tokens = std::int64_t{pass.outer_tokens} * pass.inner_tokens;
  if (output.tensors == kHiddenState) return at((entry * pass.hidden + channel % pass.hidden) * tokens + token);
  const std::int64_t dim = pass.head_dim, c = channel % (pass.heads * dim);
  return at(((entry * pass.heads + c / dim) * tokens + token) * dim + c % dim);
}

// As processes of ranks get them: all those of rank 0.
std::vector<float> at_all(RankWorld* world, std::vector<float> numbers) {
  if (world == nullptr) return numbers;
  const auto bytes = std::as_bytes(std::span(numbers));
  const std::string all = world->share(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  numbers.resize(all.size() / sizeof(float));
  std::memcpy(numbers.data(), all.data(), numbers.size() * sizeof(float));
  return numbers;
}

// Guided in double precision, [batch][channels][tokens].
std::vector<double> guided_reference(const Shape& shape, const std::vector<float>& predictions) {
  std::vector<double> guided;
  for (std::int64_t entry = 0; entry < shape.batch; ++entry)
    for (std::int64_t c = 0; c < shape.channels; ++c)
      for (std::int64_t t = 0; t < shape.tokens; ++t) {
        const double without = predictions[shape.of(entry, shape.passes - 1, c, t)];
        double sum = 0;
        for (std::int64_t p = 0; p + 1 < shape.passes; ++p) sum += predictions[shape.of(entry, p, c, t)] - without;
        guided.push_back(without + double{kernels::kGuidanceScale} * sum);
      }
  return guided;
}

Verification check_guided(const Shape& shape, Dtype dtype, const std::vector<double>& wanted,
                          const OutputTensor& made) {
  Verification check;
  double all = 0, error_sum = 0;
  for (const double x : wanted) all += x * x;
  const double mean = all / static_cast<double>(shape.batch * shape.tokens);
  for (std::int64_t entry = 0; entry < shape.batch; ++entry)
    for (std::int64_t t = 0; t < shape.tokens; ++t)
      for (std::int64_t p = 0; p < shape.passes; ++p) {
        double squares = 0, errors = 0;
        for (std::int64_t c = 0; c < shape.channels; ++c) {
          const double want = wanted[at((entry * shape.channels + c) * shape.tokens + t)];
          const double difference = made.values[shape.of(entry, p, c, t)] - want;
          squares += want * want;
          errors += difference * difference;
          check.max_abs_error = std::max(check.max_abs_error, std::abs(difference));
        }
        ++check.num_rows;
        error_sum += errors;
        const double scale = std::max(squares, kSmallestShareOfMean * mean);
        const double relative = errors == 0 ? 0 : errors / scale;
        check.max_error =
            std::isnan(relative) ? std::numeric_limits<double>::infinity() : std::max(check.max_error, relative);
      }
  const double apart = made.max_replica_error;
  check.max_error = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(check.max_error, apart);
  check.nmse = all > 0 ? error_sum / (all * static_cast<double>(shape.passes)) : error_sum;
  const bool passed = check.max_error <= (dtype == Dtype::kFp32 ? kToleranceFp32 : kToleranceBf16);
  check.verdict = passed ? Verdict::kPassed : Verdict::kFailed;
  return check;
}

}  // namespace

std::vector<float> predictions_of(std::span<const std::vector<OutputTensor>> outputs_by_pass, const Model& model,
                                  const Request& pass) {
  const Shape shape = shape_of(model);
  std::vector<float> predictions(at(shape.size()));
  const std::int64_t first = pass.text_first ? pass.text_tokens : 0;
  for (std::int64_t p = 0; p < shape.passes; ++p) {
    const OutputTensor& output = outputs_by_pass[at(p)].back();
    for (std::int64_t entry = 0; entry < shape.batch; ++entry)
      for (std::int64_t c = 0; c < shape.channels; ++c)
        for (std::int64_t t = 0; t < shape.tokens; ++t)
          predictions[shape.of(entry, p, c, t)] = output.values[element(pass, output, entry, c, first + t)];
  }
  return predictions;
}

CombinedPasses combine_passes(const TimingContext& context, std::vector<float> predictions) {
  const Job& job = context.job;
  const Shape shape = shape_of(job.model);
  const Request request = combine_request(job.model, job.cluster, job.config.run.dtype);
  const Plan plan = combine_plan(request, job.cluster.guidance);
  Activations input;
  input.batch = request.batch;
  input.heads = request.heads;
  input.head_dim = request.head_dim;
  input.outer_tokens = request.outer_tokens;
  input.inner_tokens = request.inner_tokens;
  input.hidden = request.hidden;
  input.x = at_all(context.world, std::move(predictions));
  const ExecuteResult result = execute(plan, request, input, execute_options(context, job.cluster.gpus_per_node));

  CombinedPasses combined;
  combined.bytes_sent = bytes_sent(plan);
  if (result.traffic.sent != combined.bytes_sent)
    throw Error(ErrorCode::kRankFailed, "combining guidance passes moved other bytes than its plan says",
                "this is a defect of spscope; please report it with the config");
  if (!result.makespan_ns.empty()) combined.makespan_ns = median(result.makespan_ns);
  if (result.outputs.empty()) return combined;
  const OutputTensor& made = result.outputs.front();
  if (job.config.run.verify != VerifyExtent::kOff)
    combined.check = check_guided(shape, request.dtype, guided_reference(shape, input.x), made);
  for (std::int64_t entry = 0; entry < shape.batch; ++entry)
    for (std::int64_t c = 0; c < shape.channels; ++c)
      for (std::int64_t t = 0; t < shape.tokens; ++t) combined.guided.push_back(made.values[shape.of(entry, 0, c, t)]);
  return combined;
}

}  // namespace spscope
