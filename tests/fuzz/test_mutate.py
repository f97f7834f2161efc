"""Mutations depend on the seed only, and are of every kind."""

from random import Random

from fuzz.mutate import mutated

SEEDS = [b"a,b\n1,2\n", b"[1, 2, 3]"]


def test_mutations_depend_on_the_seed_only():
    first, again = ([mutated(SEEDS, Random(number)) for number in range(200)] for _ in range(2))
    assert first == again
    assert len(set(first)) > 100


def test_mutations_cut_extend_and_flip():
    sizes = [len(mutated(SEEDS, Random(number))) for number in range(500)]
    assert min(sizes) < 3
    assert max(sizes) > 50
    flipped = [mutated([b"a" * 9], Random(number)) for number in range(200)]
    assert any(len(each) == 9 and sum(char != ord("a") for char in each) == 1 for each in flipped)


def test_empty_content_can_be_mutated():
    assert isinstance([mutated([b""], Random(number)) for number in range(50)], list)
