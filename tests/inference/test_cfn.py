"""Test all variants of the file format of toulbar2, and invalid files."""

import json
import lzma
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct.inference import MRF, map_mrf, read_cfn
from tests.inference.test_files import write
from tests.reference import mrf as reference


def number(cost):
    return str(round(float(cost), 3))


def functions_of(plain):
    """Return scopes and tables, in an order that mixes arities."""
    scopes = [((v,), costs) for v, costs in enumerate(plain.node)]
    scopes += [(tuple(pair), table) for pair, table in zip(plain.edges.tolist(), plain.tables)]
    scopes += [(tuple(scope), table) for scope, table in plain.factors]
    return [(scope, np.round(table, 3)) for scope, table in reversed(scopes)]


def described(rng, scope, table, named):
    """Return a function as a dict: dense, or sparse with names or indices of values."""
    fields = {"scope": [f"v{v}" if named and rng.random() < 0.7 else v for v in scope]}
    if rng.random() < 0.5:
        return fields | {"costs": [float(cost) for cost in table.ravel()]}
    default = table.flat[rng.integers(table.size)]
    costs = []
    for place in zip(*np.nonzero(table != default), strict=True):
        with_names = rng.random() < 0.5
        costs += [f"w{k}" if named and with_names else int(k) for k in place]
        costs.append(float(table[place]))
    return fields | {"defaultcost": float(default), "costs": costs}


def cfn(rng, plain, sign, bound, named):
    """Return the model as a dict in the format of toulbar2."""
    sizes = [len(costs) for costs in plain.node]
    if named:
        variables = {f"v{v}": [f"w{k}" for k in range(size)] for v, size in enumerate(sizes)}
    else:
        variables = sizes
    functions = [described(rng, s, sign * t + 0.0, named) for s, t in functions_of(plain)]
    if named:
        functions = {f"f{k}": function for k, function in enumerate(functions)}
    must = f"{'<' if sign > 0 else '>'}{sign * bound:.4f}"
    return {
        "problem": {"name": "model", "mustbe": must},
        "variables": variables,
        "functions": functions,
    }


def loose(text):
    """Return the model with as few characters as the format permits."""
    for tag in ("problem", "name", "mustbe", "variables", "functions", "scope", "defaultcost"):
        text = text.replace(f'"{tag}": ', "")
    text = text.replace('"costs": ', "")
    return "# a comment\n" + text.translate(str.maketrans("{}", "[]", '",:'))


@pytest.mark.parametrize("style", ["json", "dense", "loose"])
@given(
    n_nodes=st.integers(1, 4),
    kind=st.sampled_from(["real", "integer"]),
    n_factors=st.integers(0, 2),
    sign=st.sampled_from([1, -1]),
    named=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_models_equal_enumeration(
    style, n_nodes, kind, n_factors, sign, named, seed, new_rng, tmp_path_factory
):
    rng = new_rng(seed)
    plain = reference.random_model(rng, n_nodes, 0.6, kind, 3, n_factors=n_factors)
    model = cfn(rng, plain, sign, 1000.0, named)
    text = json.dumps(model, separators=(",", ":") if style == "dense" else None)
    path = write(tmp_path_factory.mktemp("cfn"), loose(text) if style == "loose" else text)
    found = read_cfn(path)
    assert found.n_labels.tolist() == [len(costs) for costs in plain.node]
    terms = functions_of(plain)
    for y in product(*map(range, found.n_labels)):
        expected = sum(table[tuple(y[v] for v in scope)] for scope, table in terms)
        assert found.energy(y) == pytest.approx(expected, abs=1e-9)


@given(n_nodes=st.integers(1, 4), quantile=st.floats(0, 1), seed=st.integers(0, 10**6))
def test_only_labelings_beyond_the_bound_are_forbidden(
    n_nodes, quantile, seed, new_rng, tmp_path_factory
):
    rng = new_rng(seed)
    plain = reference.random_model(rng, n_nodes, 0.6, "integer", 3, n_factors=1)
    model = MRF(*plain.arguments())
    energies = {y: model.energy(y) for y in product(*map(range, model.n_labels))}
    bound = float(np.round(np.quantile(list(energies.values()), quantile)))
    text = json.dumps(cfn(rng, plain, 1, bound, True))
    found = read_cfn(write(tmp_path_factory.mktemp("cfn"), text))
    for y, energy in energies.items():
        assert found.energy(y) == energy or (energy >= bound and found.energy(y) == np.inf)
    result = map_mrf(found)
    least = min(energies.values())
    if least < bound:
        assert result.energy == least
    else:
        assert result.energy >= bound


def test_hard_entries_are_forbidden(tmp_path):
    text = """{ problem: {name: queens, mustbe: <3}
        variables: {a: [x y] b: [x y]}
        functions: {{scope: [a b], costs: [3, 0, 0, 3]} {scope: [a], costs: [0, 1]}}}"""
    model = read_cfn(write(tmp_path, text))
    assert model.edge_cost(0).tolist() == [[np.inf, 0], [0, np.inf]]
    assert model.node_costs.tolist() == [0, 1, 0, 0]


def test_functions_share_costs_of_a_later_one(tmp_path):
    text = """{ {shared <99} [2 2 2] [
        one [scope [0 1] costs two] one [scope [2 1] costs two] two [scope [1 0] costs [1 2 3 4]]
    ]}"""
    model = read_cfn(write(tmp_path, text))
    assert model.n_edges == 2
    assert model.energy([0, 1, 0]) == 2 + 3 + 2


def test_sums_of_shared_costs_count_as_entries(tmp_path):
    pairs = [f"{{[{u} {v}] costs t}}" for u in range(9) for v in range(u)]
    table = "t {[0 1] defaultcost 1 costs [0 0 2]}"
    for functions, is_small in (pairs[1:], True), (2 * pairs, False):
        text = "{{p <inf} [" + 9 * "50 " + "] [" + " ".join([*functions, table]) + "]}"
        path = write(tmp_path, text)
        if is_small:
            assert read_cfn(path, max_entries=5000).n_edges == 36
        else:
            with pytest.raises(ValueError, match="function 0: the file declares more than"):
                read_cfn(path, max_entries=5000)


@pytest.mark.parametrize("block", [2**20, 40])
def test_words_cross_blocks(tmp_path, monkeypatch, block, new_rng):
    plain = reference.random_model(new_rng(0), 4, 1.0, n_factors=2)
    text = json.dumps(cfn(new_rng(1), plain, 1, 1000.0, True), separators=(",", ":"))
    expected = read_cfn(write(tmp_path, text))
    monkeypatch.setattr("sstruct.inference._files.tokens._BLOCK", block)
    found = read_cfn(write(tmp_path, lzma.compress(text.encode())))
    np.testing.assert_array_equal(found.tables, expected.tables)
    np.testing.assert_array_equal(found.factor_tables, expected.factor_tables)


def test_limits_of_functions(tmp_path):
    text = "{{p <inf} [" + 32 * "2 " + "] [{[" + " ".join(map(str, range(32))) + "] 0 []}]}"
    with pytest.raises(ValueError, match="function 0 has 32 variables, expected at most 31"):
        read_cfn(write(tmp_path, text))
    model = read_cfn(
        write(tmp_path, "{{p <9} [2 2] [{[0] costs [inf inf]} {[0 1] costs [1 2 3 inf]}]}")
    )
    assert model.node_costs.tolist() == [np.inf, np.inf, 0, 0]
    assert model.edge_cost(0).tolist() == [[1, 2], [3, np.inf]]


SOUND = """{"problem": {"name": "two", "mustbe": "<10.0"},
"variables": {"x": ["a", "b"], "y": 2},
"functions": {
"f": {"scope": ["x", "y"], "costs": [1, 2, 3, 4]},
"g": {"scope": ["x"], "defaultcost": 0, "costs": ["b", 1.5]}
}}
"""


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('"<10.0"', '"10.0"', "line 1: '10.0' found, expected a bound of energies"),
        ('"<10.0"', '"<1e3"', "line 1: '<1e3' found, expected a bound of energies"),
        ('"x": ["a", "b"], "y": 2', "", "line 2: the file has no variables, expected at least one"),
        ('"two"', '"two names"', "line 1: 'names\"' found, expected a bound"),
        ('["a", "b"]', '["a b", "c"]', "line 2: variable 'x' has the value '\"a'"),
        ('["a", "b"]', '["a", "a"]', "line 2: variable 'x' has the value 'a', expected different"),
        ('["a", "b"]', "[]", "line 2: variable 'x' has no values"),
        ('"y": 2', '"y": -2', "line 2: the number of values of variable 'y' is -2"),
        ('"y": 2', '"x": 2', "line 2: the variable 'x' is given twice"),
        ('"y": 2', '"y": 5000', "line 2: variable 'y': the file declares more than max_entries"),
        ('["x", "y"]', '["x", "z"]', "line 4: the scope of function 'f' has the unknown .*'z'"),
        ('["x", "y"]', "[0, 2]", "line 4: a variable of function 'f' is 2, expected 0 to 1"),
        ('["x", "y"]', '["x", 0]', "line 4: function 'f' contains a variable twice"),
        ("3, 4]", "3]", "line 4: ']' found, expected a number of the costs of function 'f'"),
        ("3, 4]", "3, 4, 5]", "line 4: '5' found, expected the end of the 4 costs of function 'f'"),
        ("3, 4]", "3, nan]", "line 4: the costs of function 'f', which ends here, has .* nan"),
        ("3, 4]", "3, -inf]", "line 4: the costs of function 'f', which ends here, has .* -inf"),
        ("3, 4]", "3, 1e200]", "line 4: the costs of function 'f', which ends here, has .* 1e"),
        ('"costs": [1, 2, 3, 4]', '"costs": "h"', "line 6: function 'f' has the costs of .* 'h'"),
        ('"costs": [1, 2, 3, 4]', '"costs": "g"', r"line 5: function 'f' has the shape \(2, 2\)"),
        ('"costs": [1, 2, 3, 4]', '"type": "sgcc"', "line 4: function 'f' has 'type', expected"),
        ('"b", 1.5', '"c", 1.5', "line 5: function 'g' has the unknown value 'c' of variable 0"),
        ('"b", 1.5', "2, 1.5", "line 5: a value of variable 0 in function 'g' is 2"),
        ('"b", 1.5', '"b", 1.5, 1, 2', r"line 5: function 'g' has two costs for the values \[1\]"),
        ('"b", 1.5', '"b"', "line 5: ']' found, expected a number of a cost of function 'g'"),
        ("}}\n", "}", "line 6: the file ends before the end of the model"),
        ("}}\n", "", "line 6: the file ends within the functions"),
        ("}}\n", "}}\n\n7", "line 8: '7' found after the end of the model"),
        ("{\n", "7\n", "line 3: '7' found, expected the functions, which starts with"),
    ],
)
def test_malformed_files(tmp_path, old, new, message):
    assert SOUND.count(old) == 1
    path = write(tmp_path, SOUND.replace(old, new))
    with pytest.raises(ValueError, match=f"model, {message}"):
        read_cfn(path, max_entries=1000)


def test_minima_match_toulbar2(tmp_path, new_rng):
    pytoulbar2 = pytest.importorskip("pytoulbar2")
    for seed in range(20):
        rng = new_rng(seed)
        plain = reference.random_model(rng, 4, 0.7, "real", 3, n_factors=1)
        # toulbar2 cannot read another file after a maximization, so all are minimized.
        path = write(tmp_path, json.dumps(cfn(rng, plain, 1, 1000.0, seed % 2)), "model.cfn")
        network = pytoulbar2.CFN()
        network.Read(str(path))
        # The energy of toulbar2 is wrong if a variable has only one value, so it is recomputed.
        labels = network.Solve()[0]
        model = read_cfn(path)
        assert model.energy(labels) == pytest.approx(map_mrf(model).energy, abs=1e-9)
