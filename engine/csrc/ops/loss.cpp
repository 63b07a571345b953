// Cross-entropy.
#include "kernels/loss.h"

#include "ops/class_targets.h"
#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {

// Pairwise, so that a mean over millions of rows loses nothing.
double sum_pairwise(const double* values, int64_t n) {
  if (n <= 32) {
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += values[i];
    return total;
  }
  return sum_pairwise(values, n / 2) + sum_pairwise(values + n / 2, n - n / 2);
}

double sum_pairwise(const std::vector<double>& values) {
  return sum_pairwise(values.data(), static_cast<int64_t>(values.size()));
}

void check_targets(const char* op, const Tensor& target, const Dims& shape, int64_t classes,
                   int64_t ignore) {
  const Tensor here = to_host(target);
  const int64_t* t = here.data<int64_t>();
  for (int64_t i = 0; i < here.numel(); ++i) {
    if ((t[i] >= 0 && t[i] < classes) || t[i] == ignore) [[likely]]
      continue;
    Dims position(shape.size(), 0);
    int64_t rest = i;
    for (int d = shape.size() - 1; d >= 0; --d) {
      position[d] = rest % shape[d];
      rest /= shape[d];
    }
    throw IndexError(concat_text(op, ": target ", t[i], " at ", to_string(position),
                                 " is not a class number: there are ", classes, " classes, 0 to ",
                                 classes - 1, ", and ignore_index is ", ignore));
  }
}

Tensor cross_entropy_grad_in_operations(const Tensor& x, const CrossEntropy& args,
                                        const Tensor& targets, const Tensor& w,
                                        const Tensor& scale) {
  const Tensor target = to_host(targets);
  const int64_t rows = args.shape.rows, classes = args.shape.width;
  const Tensor total = empty({rows, 1}, DType::kF64), own = zeros({rows, classes}, DType::kF64);
  const Tensor weights = w.defined() ? to_host(contiguous(astype(detach(w), DType::kF64)))
                                     : ones({classes}, DType::kF64);
  const double* by_class = weights.data<double>();
  const double each = args.smoothing / static_cast<double>(classes);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t t = target.data<int64_t>()[i];
    const bool counts = t != args.ignore_index;
    total.data<double>()[i] =
        counts ? (1.0 - args.smoothing) * by_class[t] + each * args.weight_sum : 0.0;
    if (!counts) continue;
    double* row = own.data<double>() + i * classes;
    for (int64_t c = 0; c < classes; ++c) row[c] = each * by_class[c];
    row[t] += (1.0 - args.smoothing) * by_class[t];
  }
  const auto beside_x = [&](const Tensor& t) { return to_device(astype(t, x.dtype()), x.device()); };
  return scale * (softmax(x, -1) * beside_x(total) - beside_x(own));
}

namespace {

enum class Reduction { kNone, kMean, kSum };

Reduction parse_reduction(const std::string& text) {
  if (text == "none") return Reduction::kNone;
  if (text == "sum") return Reduction::kSum;
  check(text == "mean", "cross_entropy: reduction '", text,
        "' is not one of 'mean', 'sum', 'none'");
  return Reduction::kMean;
}

struct CrossEntropyRule {
  Saved logits, weight;
  Tensor target;
  std::vector<double> log_sums;
  CrossEntropy args;  // its pointers are set when it runs
  Reduction reduction;
  double divisor;  // of the mean

  void operator()(Backward& bw) {
    const Tensor x = logits.get(), w = weight.get();
    if (grad_enabled()) {
      const Tensor g = bw.grad();
      const Tensor scale =
          reduction == Reduction::kNone ? reshape(g, {args.shape.rows, 1}) : g / divisor;
      bw.set(0, cross_entropy_grad_in_operations(x, args, target, w, scale));
      return;
    }
    args.logits = x.data();
    args.target = target.data<int64_t>();
    args.weight = w.defined() ? w.data() : nullptr;
    const Tensor g = to_host(contiguous(astype(bw.grad(), DType::kF64)));
    std::vector<double> scale(log_sums.size());
    for (size_t i = 0; i < scale.size(); ++i) {
      scale[i] =
          reduction == Reduction::kNone ? g.data<double>()[i] : g.data<double>()[0] / divisor;
    }
    const Tensor grad = empty(x.shape(), x.dtype(), x.device());
    cross_entropy_grad_kernel.on(x.device().type)(x.dtype(), args, log_sums.data(), scale.data(),
                                                  grad.data());
    bw.set(0, grad);
  }
};

// Logits (rows, classes), contiguous; target has one number a row.
Tensor cross_entropy_rows(const Tensor& logits, const Tensor& target, const Tensor& weight,
                          const Dims& out_shape, const CrossEntropyOptions& options) {
  const Reduction reduction = parse_reduction(options.reduction);
  const int64_t classes = logits.size(1);
  CrossEntropyRule rule;
  CrossEntropy& args = rule.args;
  args.shape = {logits.size(0), classes};
  args.logits = logits.data();
  args.target = target.data<int64_t>();
  args.ignore_index = options.ignore_index;
  args.smoothing = options.label_smoothing;
  args.weight_sum = static_cast<double>(classes);
  const Tensor weights =
      weight.defined() ? to_host(contiguous(astype(weight, DType::kF64))) : weight;
  if (weight.defined()) {
    args.weight = weight.data();
    args.weight_sum = sum_pairwise(weights.data<double>(), classes);
  }
  std::vector<double> losses(args.shape.rows);
  rule.log_sums.resize(args.shape.rows);
  cross_entropy_kernel.on(logits.device().type)(logits.dtype(), args, losses.data(),
                                                rule.log_sums.data());

  Tensor out;
  rule.divisor = 1;
  if (reduction == Reduction::kNone) {
    const Tensor each = empty({args.shape.rows}, DType::kF64);
    std::copy(losses.begin(), losses.end(), each.data<double>());
    out = reshape(to_device(astype(each, logits.dtype()), logits.device()), out_shape);
  } else {
    double total = sum_pairwise(losses);
    if (reduction == Reduction::kMean) {
      std::vector<double> counted(args.shape.rows);
      const Tensor classes_of_rows = to_host(target);
      for (int64_t i = 0; i < args.shape.rows; ++i) {
        const int64_t t = classes_of_rows.data<int64_t>()[i];
        counted[i] = t == args.ignore_index ? 0 : weight.defined() ? weights.data<double>()[t] : 1;
      }
      rule.divisor = sum_pairwise(counted);
      total /= rule.divisor;  // NaN when every target is ignored: there is no mean of nothing
    }
    const Tensor value = empty({}, DType::kF64);
    *value.data<double>() = total;
    out = to_device(astype(value, logits.dtype()), logits.device());
  }
  if (needs_grad(logits)) {
    rule.logits = Saved(logits);
    rule.weight = Saved(weight);
    rule.target = target;
    rule.reduction = reduction;
    record("cross_entropy", {logits}, {out}, std::move(rule));
  }
  return out;
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const Tensor& weight,
                     const CrossEntropyOptions& options) {
  check_floating("cross_entropy", logits);
  check<TypeError>(is_integral(target.dtype()), "cross_entropy: target is ", describe(target),
                   ", expected integers: class numbers, one for each row of logits");
  check(logits.ndim() >= 2, "cross_entropy: logits have shape ", to_string(logits.shape()),
        ", expected (N, C) or (N, C, ...)");
  Dims expected = logits.shape();
  expected.erase(1);
  check(target.shape() == expected, "cross_entropy: target has shape ", to_string(target.shape()),
        ", expected ", to_string(expected), " for logits of shape ", to_string(logits.shape()));
  const int64_t classes = logits.size(1);
  check(classes >= 1, "cross_entropy: logits have shape ", to_string(logits.shape()),
        ", expected at least one class");
  check(!weight.defined() || (weight.ndim() == 1 && weight.size(0) == classes),
        "cross_entropy: weight has shape ", weight.defined() ? to_string(weight.shape()) : std::string(),
        ", expected (", classes, ",): one number for each class");
  check<AutogradError>(!needs_grad(weight),
                       "cross_entropy: there is no gradient for weight; pass "
                       "weight.detach()");
  check(options.label_smoothing >= 0 && options.label_smoothing <= 1,
        "cross_entropy: label_smoothing ", options.label_smoothing, " must be between 0 and 1");
  if (is_narrow(logits.dtype())) {
    return astype(cross_entropy(astype(logits, DType::kF32), target, weight, options),
                  loss_dtype(logits));
  }
  common_device("cross_entropy", {&logits, &target, &weight});
  // The rule outlives this call, and a loader may write the next batch into the same memory.
  Tensor t = contiguous(astype(detach(target), DType::kI64));
  if (t.storage() == target.storage() && needs_grad(logits)) t = clone(t);
  check_targets("cross_entropy", t, target.shape(), classes, options.ignore_index);
  const Tensor w = weight.defined() ? contiguous(astype(detach(weight), logits.dtype())) : weight;
  Tensor rows = logits;
  if (logits.ndim() > 2) {
    Dims axes{0};
    for (int d = 2; d < logits.ndim(); ++d) axes.push_back(d);
    axes.push_back(1);
    rows = reshape(permute_dims(logits, axes), {-1, classes});
  }
  return cross_entropy_rows(contiguous(rows), t, w, target.shape(), options);
}

}  // namespace zoo
