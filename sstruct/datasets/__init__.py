"""Data sets for structured prediction: made up, loaded, or fetched and cached."""

from ._conll2000 import fetch_conll2000
from ._digit_dates import load_digit_dates
from ._grids import make_grids
from ._images import fetch_snakes, fetch_weizmann_horses
from ._large_domain import make_large_domain_sequences
from ._lspet_pose import fetch_lspet_pose
from ._multilabel_images import fetch_corel5k, fetch_corel16k, fetch_scene
from ._multilabel_texts import (
    fetch_bibtex,
    fetch_delicious,
    fetch_enron,
    fetch_rcv1_subset,
    fetch_reuters_k500,
    fetch_tmc2007,
)
from ._ocr_letters import fetch_ocr_letters
from ._pairwise_labels import make_multilabel_pairwise
from ._stick_figures import make_stick_figures
from ._synthetic import make_sequences
from ._yeast import fetch_yeast

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
    "make_grids",
    "make_large_domain_sequences",
    "make_multilabel_pairwise",
    "make_sequences",
    "make_stick_figures",
]
