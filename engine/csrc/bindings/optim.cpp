// Fused optimizer steps.
#include "bindings/bind.h"

namespace zoo {

void bind_optim(py::module_& m) {
  using Tensors = std::vector<Tensor>;
  def_op(m, "sgd_step",
         +[](const Tensors& params, const Tensors& grads, const Tensors& momentum_bufs, double lr,
             double momentum, double dampening, double weight_decay, bool nesterov, bool first) {
           sgd_step(params, grads, momentum_bufs,
                    {lr, momentum, dampening, weight_decay, nesterov, first});
         },
         py::arg("params"), py::arg("grads"), py::arg("momentum_bufs"), py::arg("lr"),
         py::arg("momentum") = 0.0, py::arg("dampening") = 0.0, py::arg("weight_decay") = 0.0,
         py::arg("nesterov") = false, py::arg("first") = false,
         "One step of stochastic gradient descent on all params, in place. momentum_bufs: one a "
         "parameter, or [] if momentum is 0; with first they are filled and not read.\n\n"
         "engine.optim.SGD calls it. Raises ValueError for lists or shapes that differ.\n\n"
         ">>> w = engine.asarray([1.0])\n"
         ">>> engine.sgd_step([w], [engine.asarray([2.0])], [], lr=0.5)\n>>> w.tolist()\n[0.0]");
  def_op(m, "adamw_step",
         +[](const Tensors& params, const Tensors& grads, const Tensors& exp_avg,
             const Tensors& exp_avg_sq, int64_t step, double lr, double beta1, double beta2,
             double eps, double weight_decay, bool decoupled) {
           adamw_step(params, grads, exp_avg, exp_avg_sq,
                      {step, lr, beta1, beta2, eps, weight_decay, decoupled});
         },
         py::arg("params"), py::arg("grads"), py::arg("exp_avg"), py::arg("exp_avg_sq"),
         py::arg("step"), py::arg("lr"), py::arg("beta1") = 0.9, py::arg("beta2") = 0.999,
         py::arg("eps") = 1e-8, py::arg("weight_decay") = 0.0, py::arg("decoupled") = true,
         "One step of AdamW (Loshchilov and Hutter, arXiv:1711.05101), or of Adam (Kingma and Ba, "
         "arXiv:1412.6980) if decoupled is False, on all params, in place. step counts from 1.\n\n"
         "engine.optim.AdamW calls it. Raises ValueError for lists or shapes that differ.\n\n"
         ">>> w, m, v = engine.asarray([1.0]), engine.zeros(1), engine.zeros(1)\n"
         ">>> engine.adamw_step([w], [engine.asarray([2.0])], [m], [v], step=1, lr=0.5)\n"
         ">>> round(w.item(), 4)\n0.5");
  def_op(m, "grad_norm", &grad_norm, py::arg("grads"),
         "The Euclidean norm of all tensors together, as a float; summed in float64.\n\n"
         ">>> engine.grad_norm([engine.asarray([3.0]), engine.asarray([4.0])])\n5.0");
  def_op(m, "scale_grads", &scale_grads, py::arg("grads"), py::arg("factor"),
         "Multiplies every tensor by factor, in place.\n\n"
         ">>> g = engine.asarray([3.0])\n>>> engine.scale_grads([g], 2.0)\n>>> g.tolist()\n"
         "[6.0]");
}

}  // namespace zoo
