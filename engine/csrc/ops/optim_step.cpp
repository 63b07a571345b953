// Optimizer steps over many tensors at once.
#include <cmath>

#include "core/parallel.h"
#include "kernels/optim.h"
#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

// A piece of tensor `tensor` that starts at element `begin` and counts n.
struct Block {
  size_t tensor;
  int64_t begin, n;
};

std::vector<Block> split(const std::vector<Tensor>& tensors) {
  std::vector<Block> blocks;
  for (size_t t = 0; t < tensors.size(); ++t) {
    const int64_t n = tensors[t].numel();
    for (int64_t b = 0; b < n; b += kOptimBlock) {
      blocks.push_back({t, b, std::min(kOptimBlock, n - b)});
    }
  }
  return blocks;
}

template <class F>
void for_blocks(const std::vector<Block>& blocks, F&& body) {
  parallel_for(0, static_cast<int64_t>(blocks.size()), 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(blocks[i], i);
  });
}

void* at(const Tensor& t, const Block& b) { return t.data<char>() + b.begin * itemsize(t.dtype()); }

bool same_order(const Tensor& a, const Tensor& b) {
  for (int d = 0; d < a.ndim(); ++d) {
    if (a.shape()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  }
  return true;
}

void check_state(const char* op, const char* name, const std::vector<Tensor>& state,
                 const std::vector<Tensor>& params) {
  check(state.size() == params.size(), op, ": got ", state.size(), " tensors in ", name, " for ",
        params.size(), " parameters");
  for (size_t i = 0; i < params.size(); ++i) {
    check(state[i].shape() == params[i].shape(), op, ": ", name, "[", i, "] has shape ",
          to_string(state[i].shape()), ", the parameter ", to_string(params[i].shape()));
    check<TypeError>(state[i].dtype() == params[i].dtype(), op, ": ", name, "[", i, "] is ",
                     dtype_name(state[i].dtype()), ", the parameter ",
                     dtype_name(params[i].dtype()));
  }
}

// Gradients in the memory order of their parameters; the state must have it already.
std::vector<Tensor> match_layouts(const char* op, const std::vector<Tensor>& params,
                                  const std::vector<Tensor>& grads) {
  check_state(op, "grads", grads, params);
  std::vector<Tensor> matched(grads);
  for (size_t i = 0; i < params.size(); ++i) {
    check_floating(op, params[i]);
    check(params[i].is_dense(), op, ": parameter ", i, " of shape ", to_string(params[i].shape()),
          " has gaps in memory (it is a slice of another tensor); update the whole tensor");
    if (!same_order(params[i], grads[i])) {
      matched[i] = empty_like(params[i]);
      copy_(matched[i], detach(grads[i]));
    }
  }
  return matched;
}

// State made for another layout, as when a model was converted after a checkpoint was loaded, is
// stepped in a copy that goes back afterwards.
class StateInOrder {
 public:
  StateInOrder(const char* op, const char* name, const std::vector<Tensor>& state,
               const std::vector<Tensor>& params)
      : original_(state), ordered_(state) {
    check_state(op, name, state, params);
    for (size_t i = 0; i < state.size(); ++i) {
      if (same_order(state[i], params[i])) continue;
      ordered_[i] = empty_like(params[i]);
      copy_(ordered_[i], state[i]);
    }
  }
  const Tensor& operator[](size_t i) const { return ordered_[i]; }
  void finish() const {
    for (size_t i = 0; i < original_.size(); ++i) {
      if (!ordered_[i].same_impl(original_[i])) {
        copy_(original_[i], ordered_[i]);
      } else {
        original_[i].storage()->bump_version();
      }
    }
  }

 private:
  std::vector<Tensor> original_, ordered_;
};

void bump_versions(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors) t.storage()->bump_version();
}

}  // namespace

void sgd_step(const std::vector<Tensor>& params, const std::vector<Tensor>& grads,
              const std::vector<Tensor>& momentum_buffers, const SgdOptions& o) {
  GradMode off(false);
  const bool has_momentum = o.momentum != 0;
  check(!o.nesterov || (o.momentum > 0 && o.dampening == 0),
        "sgd_step: nesterov needs a momentum above 0 and no dampening, got momentum ", o.momentum,
        " and dampening ", o.dampening);
  const std::vector<Tensor> g = match_layouts("sgd_step", params, grads);
  const std::vector<Tensor> none;
  const StateInOrder buffers("sgd_step", "momentum_bufs", has_momentum ? momentum_buffers : none,
                             has_momentum ? params : none);
  const SgdRule rule{o.lr, o.momentum, o.dampening, o.weight_decay, o.nesterov, o.first};
  for_blocks(split(params), [&](const Block& b, int64_t) {
    const Tensor& p = params[b.tensor];
    sgd_kernel.on(p.device().type)(p.dtype(), rule, at(p, b), at(g[b.tensor], b),
                                   has_momentum ? at(buffers[b.tensor], b) : nullptr, b.n);
  });
  bump_versions(params);
  buffers.finish();
}

void adamw_step(const std::vector<Tensor>& params, const std::vector<Tensor>& grads,
                const std::vector<Tensor>& exp_avg, const std::vector<Tensor>& exp_avg_sq,
                const AdamOptions& o) {
  GradMode off(false);
  check(o.step >= 1, "adamw_step: steps count from 1, got ", o.step);
  check(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1,
        "adamw_step: betas must be in [0, 1), got ", o.beta1, " and ", o.beta2);
  const std::vector<Tensor> g = match_layouts("adamw_step", params, grads);
  const StateInOrder mean("adamw_step", "exp_avg", exp_avg, params);
  const StateInOrder square("adamw_step", "exp_avg_sq", exp_avg_sq, params);
  const double step = static_cast<double>(o.step);
  const AdamRule rule{o.lr,
                      o.beta1,
                      o.beta2,
                      o.eps,
                      o.weight_decay,
                      1.0 - std::pow(o.beta1, step),
                      1.0 - std::pow(o.beta2, step),
                      o.decoupled};
  for_blocks(split(params), [&](const Block& b, int64_t) {
    const Tensor& p = params[b.tensor];
    adam_kernel.on(p.device().type)(p.dtype(), rule, at(p, b), at(g[b.tensor], b),
                                    at(mean[b.tensor], b), at(square[b.tensor], b), b.n);
  });
  bump_versions(params);
  mean.finish();
  square.finish();
}

double grad_norm(const std::vector<Tensor>& grads) {
  GradMode off(false);
  std::vector<Tensor> dense(grads);
  for (Tensor& t : dense) {
    check_floating("grad_norm", t);
    if (!t.is_dense()) t = contiguous(t);
  }
  const std::vector<Block> blocks = split(dense);
  std::vector<double> partial(blocks.size());
  for_blocks(blocks, [&](const Block& b, int64_t i) {
    const Tensor& t = dense[b.tensor];
    partial[i] = sum_squares_kernel.on(t.device().type)(t.dtype(), at(t, b), b.n);
  });
  double total = 0;
  for (double v : partial) total += v;
  return std::sqrt(total);
}

void scale_grads(const std::vector<Tensor>& grads, double factor) {
  GradMode off(false);
  for (const Tensor& t : grads) {
    check_floating("scale_grads", t);
    check(t.is_dense(), "scale_grads: a gradient of shape ", to_string(t.shape()),
          " has gaps in memory; use gradient * factor");
  }
  for_blocks(split(grads), [&](const Block& b, int64_t) {
    const Tensor& t = grads[b.tensor];
    scale_kernel.on(t.device().type)(t.dtype(), factor, at(t, b), b.n);
  });
  bump_versions(grads);
}

}  // namespace zoo
