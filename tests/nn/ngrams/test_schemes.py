"""The hash functions of n-grams: recorded rows, and published formulas computed by hand."""

import pytest
import torch

from sklearn_hashnlp.kernels.embeddings._ngram_rows import locate_ngrams
from sklearn_hashnlp.nn import NgramHashEmbedding

from ...oracles import ngram_embedding as oracle

IDS = [0, 1, 2, 5, 300, 2**31 - 1, 2**31 - 1, 7]

# Rows of the n-grams of orders 1, 2 and 3 that end at each of IDS, with two heads and a million
# rows per table, or the prime numbers from there on; those of a table with two hash functions are
# neighbors.
GOLDEN = {
    "multiply_shift": [
        [
            [431527, 970881],
            [1952030, 1761034],
            [2869657, 2330557],
            [3225961, 3294046],
            [4147483, 4492032],
            [5794759, 5948879],
        ],
        [
            [623318, 607178],
            [1145947, 1317102],
            [2090042, 2678721],
            [3868859, 3449666],
            [4072214, 4867447],
            [5470505, 5868388],
        ],
        [
            [723621, 28981],
            [1178764, 1064335],
            [2796767, 2498949],
            [3937477, 3624200],
            [4114506, 4190266],
            [5793480, 5890639],
        ],
        [
            [446059, 305650],
            [1794197, 1515073],
            [2175290, 2617830],
            [3796022, 3112212],
            [4151418, 4903246],
            [5852339, 5845341],
        ],
        [
            [176677, 987839],
            [1915445, 1896533],
            [2299909, 2237675],
            [3686642, 3335658],
            [4491950, 4299731],
            [5339578, 5557617],
        ],
        [
            [576786, 166247],
            [1163463, 1247672],
            [2405278, 2562600],
            [3306506, 3228646],
            [4911739, 4301391],
            [5565765, 5033606],
        ],
        [
            [576786, 166247],
            [1163463, 1247672],
            [2001646, 2793982],
            [3154798, 3313286],
            [4213459, 4263048],
            [5213709, 5859348],
        ],
        [
            [228469, 9384],
            [1260882, 1454653],
            [2887589, 2837109],
            [3134391, 3847244],
            [4242721, 4073936],
            [5962743, 5799452],
        ],
    ],
    "multiplicative_xor": [
        [[0], [1000003], [2000036], [3000073], [4000112], [5000193]],
        [[779654], [1665867], [2650728], [3643179], [4483912], [5415719]],
        [[559305], [1331698], [2617815], [3603552], [4303291], [5174672]],
        [[898261], [1329224], [2977870], [3937433], [4868822], [5506383]],
        [[895501], [1752636], [2203736], [3911868], [4544341], [5917565]],
        [[450562], [1925499], [2297878], [3086798], [4693094], [5243075]],
        [[450562], [1925499], [2650701], [3450028], [4151193], [5587330]],
        [[457563], [1660919], [2401068], [3843979], [4260073], [5727288]],
    ],
    "polynomial": [
        [[0], [1000003], [2000036], [3000073], [4000112], [5000193]],
        [[1], [1000004], [2000037], [3000074], [4000113], [5000194]],
        [[2], [1000005], [2404247], [3399990], [4309855], [5271290]],
        [[5], [1000008], [2808459], [3799908], [4336188], [5766398]],
        [[300], [1000303], [2021307], [3999909], [4982295], [5803889]],
        [[477206], [1412799], [2662467], [3369807], [4807726], [5711719]],
        [[477206], [1412799], [2870730], [3770222], [4700366], [5420569]],
        [[7], [1000010], [2466529], [3370315], [4793845], [5708676]],
    ],
}
GOLDEN_IMPORTANCE = [
    [327325, 1555167, 2802392, 3082274, 4121601, 5527521],
    [287607, 1729567, 2408537, 3138146, 4634687, 5776486],
    [701022, 1027332, 2350790, 3948337, 4062251, 5610874],
    [483955, 1907556, 2095793, 3783727, 4680571, 5720673],
    [688962, 1734341, 2479750, 3503604, 4842719, 5730157],
    [254753, 1247832, 2448241, 3771430, 4957607, 5043535],
    [254753, 1247832, 2613599, 3722445, 4689313, 5963934],
    [138198, 1914102, 2606700, 3882271, 4577763, 5907702],
]
GOLDEN_SIGNS = [
    [-1, -1, -1, -1, 1, -1],
    [1, -1, -1, 1, 1, 1],
    [1, -1, -1, 1, 1, 1],
    [1, 1, 1, 1, -1, -1],
    [1, -1, 1, 1, -1, 1],
    [1, 1, 1, 1, -1, 1],
    [1, 1, -1, -1, -1, -1],
    [-1, 1, -1, -1, 1, 1],
]


def make(name):
    options = {"orders": (1, 2, 3), "num_heads": 2, "device": "cpu"}
    if name == "multiply_shift":
        options |= {"num_hashes": 2, "signs": True, "importance": True}
    return NgramHashEmbedding(
        10**6, 1, scheme=("polynomial", 2**31) if name == "polynomial" else name, **options
    )


def expected_of(table, exists):
    """Select the recorded values of the n-grams that exist, in the order of the kernel."""
    return [
        value
        for row, mask in zip(table, exists, strict=True)
        for value, there in zip(row, mask, strict=True)
        if there
    ]


@pytest.mark.parametrize("name", GOLDEN)
def test_recorded_rows(name):
    spec = make(name).spec
    exists = [[t + 1 >= order for order in (1, 1, 2, 2, 3, 3)] for t in range(len(IDS))]
    recorded = expected_of(GOLDEN[name], exists)
    ids = torch.tensor([IDS])
    ngrams = locate_ngrams(
        ids.numpy(), torch.zeros(0, 0, dtype=torch.bool).numpy(), 0, False, spec.tables
    )
    assert ngrams.slots.tolist() == recorded
    slots, mask, rows, signs = spec.locate(ids, None, 0)
    assert mask[0].tolist() == exists
    assert slots[mask].tolist() == recorded
    cells = [(t, table) for t in range(len(IDS)) for table in range(6) if exists[t][table]]
    described = [
        oracle.rows_of(IDS[t + 1 - (table // 2 + 1) : t + 1], table, spec) for t, table in cells
    ]
    assert [found[0] for found in described] == recorded
    if name == "multiply_shift":
        assert ngrams.rows.tolist() == rows[mask].tolist() == expected_of(GOLDEN_IMPORTANCE, exists)
        assert ngrams.signs.tolist() == signs[mask].tolist() == expected_of(GOLDEN_SIGNS, exists)
        assert [found[1] for found in described] == ngrams.rows.tolist()
        assert [found[2] for found in described] == ngrams.signs.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("name", GOLDEN)
def test_cuda_has_the_recorded_rows(name):
    spec = make(name).spec
    for here, there in zip(
        spec.locate(torch.tensor([IDS]), None, 0),
        spec.locate(torch.tensor([IDS], device="cuda"), None, 0),
        strict=True,
    ):
        assert there is None if here is None else torch.equal(here, there.cpu())


def test_a_polynomial_computed_by_hand():
    # 40 + 30 * 100 + 20 * 100**2 = 203,040; modulo 97 and 89
    spec = NgramHashEmbedding(
        [97, 89], 1, orders=(3,), num_heads=2, scheme=("polynomial", 100)
    ).spec
    slots, mask, _, _ = spec.locate(torch.tensor([[20, 30, 40]]), None, 2)
    assert mask.all()
    assert slots.flatten().tolist() == [203_040 % 97, 97 + 203_040 % 89]


def test_an_exclusive_or_computed_by_hand():
    spec = NgramHashEmbedding(
        [97, 64], 1, orders=(2,), num_heads=2, scheme="multiplicative_xor", seed=3
    ).spec
    last, before = spec.multipliers
    assert last % 2 == before % 2 == 1
    slots, _, _, _ = spec.locate(torch.tensor([[20, 30]]), None, 1)
    assert slots.flatten().tolist() == [
        ((30 * last) ^ (20 * before)) % 97,
        97 + ((30 * last) ^ (20 * before)) % 64,
    ]


def test_rows_are_spread_and_independent_of_the_order_of_options():
    ids = torch.randint(0, 1000, (1, 20_000), generator=torch.Generator().manual_seed(0))
    spec = NgramHashEmbedding(1000, 1, orders=(2, 3), num_heads=2).spec
    slots = spec.locate(ids, None, 2)[0][0, :, :, 0]
    for table in range(4):
        counts = torch.bincount(slots[:, table] - spec.starts[table], minlength=1000).double()
        # chi-squared of 999 degrees of freedom
        assert (counts - counts.mean()).square().sum() / counts.mean() < 1200
    assert (slots[:, 0] == slots[:, 1] - 1000).double().mean() < 0.01  # heads collide by chance
    with_signs = NgramHashEmbedding(1000, 1, orders=(2, 3), num_heads=2, signs=True).spec
    assert torch.equal(with_signs.locate(ids, None, 2)[0][0, :, :, 0], slots)
