"""Generators and loaders of data sets for structured prediction."""

from ._alignments import make_alignments
from ._fetched import (
    fetch_bibtex,
    fetch_conll2000,
    fetch_corel5k,
    fetch_corel16k,
    fetch_delicious,
    fetch_enron,
    fetch_lspet_pose,
    fetch_ocr_letters,
    fetch_rcv1_subset,
    fetch_reuters_k500,
    fetch_scene,
    fetch_snakes,
    fetch_tmc2007,
    fetch_weizmann_horses,
    fetch_yeast,
)
from ._matchings import make_matchings
from ._shipped import load_ewt_sample
from ._signals import make_change_points
from ._synthetic import (
    load_digit_dates,
    make_grids,
    make_large_domain_sequences,
    make_multilabel_pairwise,
    make_sequences,
    make_stick_figures,
)
from ._trees import make_dependency_trees

__all__ = [
    "fetch_bibtex",
    "fetch_conll2000",
    "fetch_corel5k",
    "fetch_corel16k",
    "fetch_delicious",
    "fetch_enron",
    "fetch_lspet_pose",
    "fetch_ocr_letters",
    "fetch_rcv1_subset",
    "fetch_reuters_k500",
    "fetch_scene",
    "fetch_snakes",
    "fetch_tmc2007",
    "fetch_weizmann_horses",
    "fetch_yeast",
    "load_digit_dates",
    "load_ewt_sample",
    "make_alignments",
    "make_change_points",
    "make_dependency_trees",
    "make_grids",
    "make_large_domain_sequences",
    "make_matchings",
    "make_multilabel_pairwise",
    "make_sequences",
    "make_stick_figures",
]
