// Random generators and random tensors.
#include "bindings/bind.h"

namespace zoo {
namespace {

using OptDType = std::optional<DType>;

Generator& chosen(Generator* generator) { return generator ? *generator : default_generator(); }

py::dict state_dict(const Generator& generator) {
  const RandomStream s = generator.state();
  py::dict d;
  d["seed"] = s.seed;
  d["offset"] = s.offset;
  return d;
}

RandomStream state_from(const py::dict& d) {
  check(d.contains("seed") && d.contains("offset") && d.size() == 2,
        "random state: expected a dict with 'seed' and 'offset', got ",
        ReprText{d});
  return {py::cast<uint64_t>(d["seed"]), py::cast<uint64_t>(d["offset"])};
}

void bind_generator(py::module_& m) {
  py::class_<Generator, Ref<Generator>>(
      m, "Generator",
      "A source of random numbers: Philox4x32-10 counters (Salmon et al., SC 2011). The same seed "
      "gives the same numbers for any number of threads and on every processor.\n\n"
      ">>> g = engine.Generator(7)\n>>> g.seed\n7")
      .def(py::init([](uint64_t seed) { return make_ref<Generator>(seed); }), py::arg("seed") = 0)
      .def_property_readonly("seed", [](const Generator& g) { return g.state().seed; },
                             "The seed it started from.")
      .def_property_readonly("offset", [](const Generator& g) { return g.state().offset; },
                             "How many counters are used up; each gives 128 random bits.")
      .def("manual_seed",
           [](Generator& g, uint64_t seed) { g.set_state({seed, 0}); }, py::arg("seed"),
           "Starts again from a seed.")
      .def("get_state", &state_dict, "{'seed': ..., 'offset': ...}: the whole state.")
      .def("set_state", [](Generator& g, const py::dict& d) { g.set_state(state_from(d)); },
           py::arg("state"), "Continues from what get_state() returned.")
      .def("__repr__", [](const Generator& g) {
        const RandomStream s = g.state();
        return concat_text("Generator(seed=", s.seed, ", offset=", s.offset, ")");
      });
  m.def("manual_seed", [](uint64_t seed) { default_generator().set_state({seed, 0}); },
        py::arg("seed"), "Starts the default generator again from a seed (0 if never called).\n\n"
                         ">>> engine.manual_seed(7)\n>>> first = engine.rand(3)\n"
                         ">>> engine.manual_seed(7)\n"
                         ">>> engine.all(first == engine.rand(3)).item()\nTrue");
  m.def("get_rng_state", [] { return state_dict(default_generator()); },
        "{'seed': ..., 'offset': ...} of the default generator.\n\n"
        ">>> engine.manual_seed(7)\n>>> engine.get_rng_state()\n{'seed': 7, 'offset': 0}");
  m.def("set_rng_state", [](const py::dict& d) { default_generator().set_state(state_from(d)); },
        py::arg("state"), "Continues the default generator from what get_rng_state() returned.\n\n"
                          "Raises ValueError for another dict.\n\n"
                          ">>> engine.set_rng_state({'seed': 7, 'offset': 0})\n"
                          ">>> engine.get_rng_state()['seed']\n7");
}

}  // namespace

void bind_random(py::module_& m) {
  bind_generator(m);
  const auto def_filled = [&](const char* name, Tensor (*make)(const Dims&, DType, Generator&, Device),
                              const char* doc) {
    m.def(name,
          [make](const ShapeArg& shape, OptDType dtype, Generator* generator,
                 const py::object& device) {
            const Dims dims = to_dims(shape);
            const Device on = device_from(device);
            OpScope scope;
            return make(dims, dtype.value_or(DType::kF32), chosen(generator), on);
          },
          py::arg("shape"), py::arg("dtype") = py::none(), py::arg("generator") = py::none(),
          py::arg("device") = py::none(), doc);
  };
  def_filled("rand", &rand, "Uniform random numbers in [0, 1), float32 unless told otherwise.\n\n"
                            "Raises TypeError for a dtype that is not floating point.\n\n"
                            ">>> engine.rand((2, 3)).shape\n(2, 3)");
  def_filled("randn", &randn,
             "Normal random numbers of mean 0 and deviation 1, float32 unless told otherwise.\n\n"
             "Raises TypeError for a dtype that is not floating point.\n\n"
             ">>> engine.randn((2, 3)).shape\n(2, 3)");
  m.def("randint",
        [](int64_t low, int64_t high, const ShapeArg& shape, OptDType dtype,
           Generator* generator, const py::object& device) {
          const Dims dims = to_dims(shape);
          const Device on = device_from(device);
          OpScope scope;
          return to_device(randint(low, high, dims, dtype.value_or(DType::kI64), chosen(generator)),
                           on);
        },
        py::arg("low"), py::arg("high"), py::arg("shape"), py::arg("dtype") = py::none(),
        py::arg("generator") = py::none(), py::arg("device") = py::none(),
        "Uniform random integers from low up to, not including, high; int64 unless told "
        "otherwise.\n\n"
        "Raises ValueError unless low is below high.\n\n"
        ">>> engine.randint(0, 10, (2, 3)).dtype\nint64");
  def_op(m, "randperm",
         +[](int64_t n, Generator* generator) { return randperm(n, chosen(generator)); },
         py::arg("n"), py::arg("generator") = py::none(),
         "The integers 0 to n - 1 in random order, int64.\n\n"
         ">>> sorted(engine.randperm(4).tolist())\n[0, 1, 2, 3]");
  def_op(m, "bernoulli",
         +[](const Tensor& p, Generator* generator) { return bernoulli(p, chosen(generator)); },
         py::arg("p"), py::arg("generator") = py::none(),
         "1 with the probability that p holds at that place, else 0; p's shape and dtype.\n\n"
         "Raises ValueError for a probability outside [0, 1].\n\n"
         ">>> engine.bernoulli(engine.asarray([0.0, 1.0])).tolist()\n[0.0, 1.0]");
  def_op(m, "uniform_",
         +[](const Tensor& t, double low, double high, Generator* generator) {
           return uniform_(t, low, high, chosen(generator));
         },
         py::arg("t"), py::arg("low") = 0.0, py::arg("high") = 1.0,
         py::arg("generator") = py::none(),
             "Fills t in place, uniformly from [low, high).\n\n"
             "Raises ValueError if high is below low.\n\n"
             ">>> engine.uniform_(engine.zeros(3), 2.0, 3.0).min().item() >= 2.0\nTrue");
  def_op(m, "normal_",
         +[](const Tensor& t, double mean, double std, Generator* generator) {
           return normal_(t, mean, std, chosen(generator));
         },
         py::arg("t"), py::arg("mean") = 0.0, py::arg("std") = 1.0,
         py::arg("generator") = py::none(), "Fills t in place from a normal distribution.\n\n"
                                            "Raises ValueError for a negative deviation.\n\n"
                                            ">>> engine.normal_(engine.zeros(3), std=0.02).shape\n"
                                            "(3,)");
  def_op(m, "trunc_normal_",
         +[](const Tensor& t, double mean, double std, double low, double high,
             Generator* generator) {
           return trunc_normal_(t, mean, std, low, high, chosen(generator));
         },
         py::arg("t"), py::arg("mean") = 0.0, py::arg("std") = 1.0, py::arg("low") = -2.0,
         py::arg("high") = 2.0, py::arg("generator") = py::none(),
         "Fills t in place from a normal distribution cut off at low and high (absolute values, "
         "not deviations).\n\n"
         "Raises ValueError unless std is positive and low below high.\n\n"
         ">>> engine.trunc_normal_(engine.zeros(3)).abs().max().item() <= 2.0\nTrue");
}

}  // namespace zoo
