"""Mutations depend only on the seed and include every kind of change."""

from random import Random

from fuzz.mutate import mutated

SEEDS = [b"a,b\n1,2\n", b"[1, 2, 3]"]


def mutations(seeds, n):
    return [mutated(seeds, Random(number)) for number in range(n)]


def test_mutations_depend_only_on_the_seed():
    assert mutations(SEEDS, 200) == mutations(SEEDS, 200)
    assert len(set(mutations(SEEDS, 200))) > 100


def test_mutations_cut_extend_and_flip_bytes():
    sizes = [len(each) for each in mutations(SEEDS, 500)]
    assert min(sizes) < 3
    assert max(sizes) > 50
    assert any(len(each) == 9 and sum(char != ord("a") for char in each) == 1 for each in mutations([b"a" * 9], 200))
    assert len(mutations([b""], 50)) == 50
