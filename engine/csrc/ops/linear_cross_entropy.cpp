// Cross-entropy of a projection, a few tokens at a time: the logits of all tokens never exist.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.h"
#include "kernels/gemm.h"
#include "kernels/head_loss.h"
#include "ops/class_targets.h"
#include "ops/fused.h"
#include "ops/ops.h"
#include "ops/transformer_ops.h"

namespace zoo {
namespace {

constexpr const char* kOp = "linear_cross_entropy";

// Logits that exist at once take at most this much; a block of them stays in the second-level cache.
constexpr int64_t kLogitBytes = int64_t{64} << 20, kBlockBytes = int64_t{1} << 20;
// Gradients of the tokens are summed by this many parts of the classes, then over the parts.
constexpr int64_t kParts = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One call: x (rows, width), weight (classes, width), both contiguous; target int64.
struct HeadLoss {
  Tensor x, weight, target;
  int64_t ignore_index;
  double smoothing;
  bool mean;

  DType dtype() const { return x.dtype(); }
  DeviceType device() const { return x.device().type; }
  int64_t rows() const { return x.size(0); }
  int64_t width() const { return x.size(1); }
  int64_t classes() const { return weight.size(0); }
  int64_t bytes() const { return itemsize(dtype()); }
  bool counts(int64_t row) const { return target.data<int64_t>()[row] != ignore_index; }
  char* row_of(const Tensor& t, int64_t row) const {
    return t.data<char>() + row * width() * bytes();
  }

  // What the sum of losses is divided by.
  double divisor() const {
    if (!mean) return 1;
    int64_t n = 0;
    for (int64_t i = 0; i < rows(); ++i) n += counts(i);
    return static_cast<double>(n);
  }
};

// Tokens [first, first + count) against all classes. Their logits lie class by class, as the
// product of the weight, read as it is, with the few tokens gives them.
class Chunk {
 public:
  Chunk(const HeadLoss& loss, int64_t first, int64_t count, bool keeps_logits)
      : h_(loss),
        first_(first),
        count_(count),
        block_(std::clamp<int64_t>(kBlockBytes / (count * loss.bytes()), 64, 4096)),
        blocks_(ceil_div(loss.classes(), block_)),
        keeps_logits_(keeps_logits),
        logits_(keeps_logits ? block_bytes() * blocks_ : 0),
        sums_(3 * blocks_ * count),
        own_(count),
        log_sums_(count) {}

  // The losses of the tokens, added up.
  double forward() {
    parallel_for(0, blocks_, 1, [&](int64_t begin, int64_t end) {
      Scratch scratch(keeps_logits_ ? 0 : block_bytes());
      for (int64_t b = begin; b < end; ++b) {
        void* logits = keeps_logits_ ? logits_of(b) : scratch.as<void>();
        GemmArgs g = product(classes_of(b), count_, h_.width());
        g.a = h_.row_of(h_.weight, b * block_);
        g.a_row = h_.width();
        g.a_col = 1;
        g.b = h_.row_of(h_.x, first_);  // transposed
        g.b_row = 1;
        g.b_col = h_.width();
        g.c = logits;
        gemm_kernel.on(h_.device())(h_.dtype(), g);
        column_sums_kernel.on(h_.device())(h_.dtype(), logits, classes_of(b), count_, sums_of(b));
        each_own(b, [&](int64_t i, int64_t at) {
          own_[i] = h_.dtype() == DType::kF64 ? static_cast<double*>(logits)[at]
                                              : static_cast<double>(static_cast<float*>(logits)[at]);
        });
      }
    });
    std::vector<double> losses(count_);
    for (int64_t i = 0; i < count_; ++i) losses[i] = h_.counts(first_ + i) ? loss_of(i) : 0.0;
    return sum_pairwise(losses);
  }

  // Gradients of the losses times `scale`: into the rows of grad_x, and added to grad_weight, or
  // put there by the first chunk. Either may be undefined.
  void backward(double scale, const Tensor& grad_x, const Tensor& grad_weight) const {
    const double spread = h_.smoothing / static_cast<double>(h_.classes());
    std::vector<double> factor(count_), each(count_);
    for (int64_t i = 0; i < count_; ++i) {
      factor[i] = h_.counts(first_ + i) ? scale : 0.0;
      each[i] = factor[i] * spread;
    }
    const int64_t parts = std::min(blocks_, kParts), size = count_ * h_.width();
    Scratch partial(grad_x.defined() ? static_cast<size_t>(parts * size * h_.bytes()) : 0);
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t from = p * blocks_ / parts, to = (p + 1) * blocks_ / parts;
        for (int64_t b = from; b < to; ++b) {
          void* grads = logits_of(b);
          column_grads_kernel.on(h_.device())(h_.dtype(), grads, classes_of(b), count_,
                                              {log_sums_.data(), factor.data(), each.data()});
          each_own(b, [&](int64_t i, int64_t at) {
            const double own = factor[i] * (1.0 - h_.smoothing);
            if (h_.dtype() == DType::kF64) {
              static_cast<double*>(grads)[at] -= own;
            } else {
              static_cast<float*>(grads)[at] -= static_cast<float>(own);
            }
          });
          if (grad_weight.defined()) add_weight_grads(b, grads, grad_weight);
          if (grad_x.defined()) {
            add_token_grads(b, grads, partial.as<char>() + p * size * h_.bytes(), b > from);
          }
        }
      }
    });
    if (!grad_x.defined()) return;
    if (h_.dtype() == DType::kF64) {
      join_parts(partial.as<double>(), parts, size, h_.row_of(grad_x, first_));
    } else {
      join_parts(partial.as<float>(), parts, size, h_.row_of(grad_x, first_));
    }
  }

 private:
  size_t block_bytes() const { return static_cast<size_t>(block_ * count_ * h_.bytes()); }
  int64_t classes_of(int64_t b) const { return std::min(block_, h_.classes() - b * block_); }
  void* logits_of(int64_t b) const { return logits_.as<char>() + b * block_bytes(); }
  ColumnSums sums_of(int64_t b) {
    double* s = sums_.data() + 3 * b * count_;
    return {s, s + count_, s + 2 * count_};
  }

  // Calls body(token, place in the block's logits) for each token whose target is in block b.
  template <class F>
  void each_own(int64_t b, F&& body) const {
    const int64_t* target = h_.target.data<int64_t>() + first_;
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t row = target[i] - b * block_;
      if (row >= 0 && row < classes_of(b) && h_.counts(first_ + i)) body(i, row * count_ + i);
    }
  }

  // (1 - s) (L - own) + s / C * sum over c of (L - x[c]), L = log sum exp x.
  double loss_of(int64_t i) {
    double top = -std::numeric_limits<double>::infinity(), total = 0, plain = 0;
    for (int64_t b = 0; b < blocks_; ++b) top = std::max(top, sums_of(b).top[i]);
    for (int64_t b = 0; b < blocks_; ++b) {
      const ColumnSums s = sums_of(b);
      total += s.exponentials[i] * std::exp(s.top[i] - top);
      plain += s.plain[i];
    }
    const double log_sum = top + std::log(total);
    log_sums_[i] = log_sum;
    const double loss = log_sum - own_[i];
    if (h_.smoothing == 0) return loss;
    return (1.0 - h_.smoothing) * loss +
           h_.smoothing * (log_sum - plain / static_cast<double>(h_.classes()));
  }

  GemmArgs product(int64_t m, int64_t n, int64_t k) const {
    GemmArgs g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.c_row = n;
    return g;
  }

  // (classes, tokens) times (tokens, width).
  void add_weight_grads(int64_t b, const void* grads, const Tensor& grad_weight) const {
    GemmArgs g = product(classes_of(b), h_.width(), count_);
    g.a = grads;
    g.a_row = count_;
    g.a_col = 1;
    g.b = h_.row_of(h_.x, first_);
    g.b_row = h_.width();
    g.b_col = 1;
    g.c = h_.row_of(grad_weight, b * block_);
    g.accumulate = first_ > 0;
    gemm_kernel.on(h_.device())(h_.dtype(), g);
  }

  // (tokens, classes) times (classes, width).
  void add_token_grads(int64_t b, const void* grads, void* sums, bool accumulate) const {
    GemmArgs g = product(count_, h_.width(), classes_of(b));
    g.a = grads;  // transposed
    g.a_row = 1;
    g.a_col = count_;
    g.b = h_.row_of(h_.weight, b * block_);
    g.b_row = h_.width();
    g.b_col = 1;
    g.c = sums;
    g.accumulate = accumulate;
    gemm_kernel.on(h_.device())(h_.dtype(), g);
  }

  template <class T>
  static void join_parts(const T* partial, int64_t parts, int64_t size, void* to) {
    T* sum = static_cast<T*>(to);
    parallel_for(0, size, 16384, [&](int64_t begin, int64_t end) {
      std::copy(partial + begin, partial + end, sum + begin);
      for (int64_t p = 1; p < parts; ++p) {
        for (int64_t i = begin; i < end; ++i) sum[i] += partial[p * size + i];
      }
    });
  }

  const HeadLoss& h_;
  int64_t first_, count_, block_, blocks_;
  bool keeps_logits_;
  Scratch logits_;
  std::vector<double> sums_, own_, log_sums_;
};

// Gradients are made with the loss, while logits are at hand: computing those again would cost a
// third of the whole. They are exact for a gradient of 1, and scaled by the one that arrives.
struct LinearCrossEntropyRule {
  Saved x, weight;
  HeadLoss loss;  // its tensors are set when it runs
  double divisor;
  Tensor grad_x, grad_weight;

  void in_operations(Backward& bw) const {
    const Tensor x = this->x.get(), w = weight.get();
    CrossEntropy args;
    args.shape = {x.size(0), w.size(0)};
    args.weight_sum = static_cast<double>(w.size(0));
    args.ignore_index = loss.ignore_index;
    args.smoothing = loss.smoothing;
    const Tensor grads = cross_entropy_grad_in_operations(
        matmul(x, swapaxes(w, 0, 1)), args, loss.target, {}, bw.grad() / divisor);
    if (bw.wants(0)) bw.set(0, matmul(grads, w));
    if (bw.wants(1)) bw.set(1, matmul(swapaxes(grads, 0, 1), x));
  }

  void operator()(Backward& bw) {
    // Gradients that were handed out belong to whoever has them: a second walk makes new ones.
    const bool made = (grad_x.defined() || !bw.wants(0)) && (grad_weight.defined() || !bw.wants(1));
    if (grad_enabled() || !made) {
      in_operations(bw);
      return;
    }
    const Tensor g = bw.grad();
    const bool is_one = *astype(g, DType::kF64).data<double>() == 1.0;
    int input = 0;
    for (Tensor* t : {&grad_x, &grad_weight}) {
      if (bw.wants(input)) {
        bw.set(input, is_one ? *t : binary_inplace("multiply", *t, g));
        *t = {};
      }
      ++input;
    }
  }
};

Tensor compute(HeadLoss loss, bool wants_x, bool wants_weight) {
  LinearCrossEntropyRule rule;
  rule.divisor = loss.divisor();
  const bool wants_any = wants_x || wants_weight;
  double total = 0;
  {
    GradMode off(false);
    if (wants_x) rule.grad_x = empty(loss.x.shape(), loss.dtype());
    if (wants_weight) rule.grad_weight = empty(loss.weight.shape(), loss.dtype());
    const int64_t fit = std::max<int64_t>(64, kLogitBytes / (loss.classes() * loss.bytes()));
    const int64_t chunks = std::max<int64_t>(1, ceil_div(loss.rows(), fit));
    const int64_t each = ceil_div(ceil_div(loss.rows(), chunks), 64) * 64;
    for (int64_t row = 0; row < loss.rows(); row += each) {
      Chunk chunk(loss, row, std::min(each, loss.rows() - row), wants_any);
      total += chunk.forward();
      if (wants_any) chunk.backward(1.0 / rule.divisor, rule.grad_x, rule.grad_weight);
    }
    if (wants_weight && loss.rows() == 0) fill_(rule.grad_weight, 0);
  }
  const Tensor value = empty({}, DType::kF64);
  *value.data<double>() = total / rule.divisor;  // NaN where a mean is of nothing
  const Tensor out = astype(value, loss.dtype());
  if (wants_any) {
    rule.x = Saved(loss.x);
    rule.weight = Saved(loss.weight);
    rule.loss = loss;
    rule.loss.x = rule.loss.weight = {};
    record(kOp, {loss.x, loss.weight}, {out}, std::move(rule));
  }
  return out;
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& input, const Tensor& own_weight, const Tensor& target,
                            const CrossEntropyOptions& options) {
  const Tensor x = autocast_narrow(input), weight = autocast_narrow(own_weight);
  check_floating(kOp, x);
  check<TypeError>(weight.dtype() == x.dtype(), kOp, ": x is ", dtype_name(x.dtype()), ", weight ",
                   dtype_name(weight.dtype()), "; they must agree");
  check(x.ndim() >= 1 && weight.ndim() == 2 && x.size(-1) == weight.size(1) && weight.numel() > 0,
        kOp, ": x has shape ", to_string(x.shape()), ", weight ", to_string(weight.shape()),
        "; expected (..., width) and (classes, width), none of the two 0");
  check<TypeError>(is_integral(target.dtype()), kOp, ": target is ", describe(target),
                   ", expected integers: class numbers, one for each row of x");
  const Dims expected(x.shape().begin(), x.shape().end() - 1);
  check(target.shape() == expected, kOp, ": target has shape ", to_string(target.shape()),
        ", expected ", to_string(expected), " for x of shape ", to_string(x.shape()));
  check(options.reduction == "mean" || options.reduction == "sum", kOp, ": reduction '",
        options.reduction,
        "' is not one of 'mean', 'sum'; for the loss of each row use cross_entropy(linear(x, "
        "weight), target, reduction='none')");
  check(options.label_smoothing >= 0 && options.label_smoothing <= 1, kOp, ": label_smoothing ",
        options.label_smoothing, " must be between 0 and 1");
  const Device device = common_device(kOp, {&x, &weight, &target});
  if (device.type != DeviceType::kCPU) {
    // Chunks that fit a cache are the CPU's way; here all logits exist.
    return cross_entropy(matmul(reshape(x, {-1, x.size(-1)}), swapaxes(weight, 0, 1)),
                         reshape(target, {-1}), {}, options);
  }
  if (is_narrow(x.dtype())) {
    const DType dtype = loss_dtype(x);
    AutocastOff exact;
    return astype(linear_cross_entropy(astype(x, DType::kF32), astype(weight, DType::kF32), target,
                                       options),
                  dtype);
  }
  HeadLoss loss;
  loss.target = contiguous(astype(detach(target), DType::kI64));
  // The rule outlives this call, and a loader may write the next batch into the same memory.
  if (loss.target.storage() == target.storage() && needs_grad(x, weight)) {
    loss.target = clone(loss.target);
  }
  check_targets(kOp, loss.target, target.shape(), weight.size(0), options.ignore_index);
  loss.x = contiguous(reshape(x, {-1, x.size(-1)}));
  loss.weight = contiguous(weight);
  loss.ignore_index = options.ignore_index;
  loss.smoothing = options.label_smoothing;
  loss.mean = options.reduction == "mean";
  return compute(loss, needs_grad(loss.x), needs_grad(loss.weight));
}

}  // namespace zoo
