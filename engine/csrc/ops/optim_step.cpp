// Optimizer steps over many tensors at once.
#include <cmath>

#include "core/backend.h"
#include "kernels/optim.h"
#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

// Calls run(one of them, pieces, count) for each stretch of tensors of one device and dtype; most
// often there is one. piece_of(i) is tensor i with what belongs to it.
template <class PieceOf, class Run>
void for_pieces(const std::vector<Tensor>& tensors, PieceOf&& piece_of, Run&& run) {
  std::vector<OptimPiece> pieces;
  pieces.reserve(tensors.size());
  size_t first = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (t.device() != tensors[first].device() || t.dtype() != tensors[first].dtype()) {
      use_device(tensors[first].device());
      run(tensors[first], pieces.data() + first, static_cast<int64_t>(i - first));
      first = i;
    }
    pieces.push_back(piece_of(i));
  }
  if (tensors.empty()) return;
  use_device(tensors[first].device());
  run(tensors[first], pieces.data() + first, static_cast<int64_t>(tensors.size() - first));
}

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
    check(state[i].device() == params[i].device(), op, ": ", name, "[", i, "] is on '",
          device_text(state[i].device()), "', the parameter on '", device_text(params[i].device()),
          "'; move one with .to(device)");
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

OptimPiece memory_of(const Tensor& t) {
  OptimPiece piece{t.data()};
  piece.n = t.numel();
  return piece;
}

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
  for_pieces(
      params,
      [&](size_t i) {
        return OptimPiece{params[i].data(), g[i].data(),
                          has_momentum ? buffers[i].data() : nullptr, nullptr, params[i].numel()};
      },
      [&](const Tensor& like, const OptimPiece* pieces, int64_t count) {
        sgd_kernel.on(like.device().type)(like.dtype(), rule, pieces, count);
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
  for_pieces(
      params,
      [&](size_t i) {
        return OptimPiece{params[i].data(), g[i].data(), mean[i].data(), square[i].data(),
                          params[i].numel()};
      },
      [&](const Tensor& like, const OptimPiece* pieces, int64_t count) {
        adam_kernel.on(like.device().type)(like.dtype(), rule, pieces, count);
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
  double total = 0;
  for_pieces(
      dense, [&](size_t i) { return memory_of(dense[i]); },
      [&](const Tensor& like, const OptimPiece* pieces, int64_t count) {
        total += sum_squares_kernel.on(like.device().type)(like.dtype(), pieces, count);
      });
  return std::sqrt(total);
}

void scale_grads(const std::vector<Tensor>& grads, double factor) {
  GradMode off(false);
  for (const Tensor& t : grads) {
    check_floating("scale_grads", t);
    check(t.is_dense(), "scale_grads: a gradient of shape ", to_string(t.shape()),
          " has gaps in memory; use gradient * factor");
  }
  for_pieces(
      grads, [&](size_t i) { return memory_of(grads[i]); },
      [&](const Tensor& like, const OptimPiece* pieces, int64_t count) {
        scale_kernel.on(like.device().type)(like.dtype(), factor, pieces, count);
      });
  bump_versions(grads);
}

}  // namespace zoo
