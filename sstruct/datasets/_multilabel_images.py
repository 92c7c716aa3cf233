"""Label sets of pictures, read from the folder of the data."""

from sstruct._documentation import shares_documentation

from ._multilabel import load_label_sets
from ._multilabel_texts import fetch_bibtex

_SCENE_LABELS = ("Beach", "Sunset", "FallFoliage", "Field", "Mountain", "Urban")


_COREL5K = """\
Corel5k
-------

Photographs by the kinds of regions (499 clusters) that occur in them, and 374 words, 3.5 each.
4500 for training, 500 for testing.

P. Duygulu, K. Barnard, J. F. G. de Freitas and D. A. Forsyth, Object recognition as machine
translation, ECCV 2002. From the data of Mulan; the source states no licence.
"""

_COREL16K = """\
Corel16k, first sample
----------------------

Photographs by the kinds of regions (500 clusters) that occur in them, and 153 words, 2.9 each.
13766, without a split here.

K. Barnard, P. Duygulu, D. Forsyth, N. de Freitas, D. M. Blei and M. I. Jordan, Matching words and
pictures, JMLR 3, 2003. From the package mldr.datasets (LGPL); the source states no licence of the
data.
"""

_SCENE = """\
Scene
-----

Photographs by 294 features (moments of colours in a grid of blocks), and which of six kinds of
scene they show; 1.1 each. 1211 for training, 1196 for testing.

M. R. Boutell, J. Luo, X. Shen and C. M. Brown, Learning multi-label scene classification, Pattern
Recognition 37, 2004. The source states no licence.
"""


@shares_documentation(fetch_bibtex)
def fetch_corel5k(*, subset="train", return_indicator="sparse", data_home=None, return_X_y=False):
    """Load the pictures of the Corel5k data set from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``multilabel_corel5k.npz`` must
    be there.

    Parameters
    ----------
    <subset>
    <return_indicator>
    <data_home>
    <return_X_y>

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : float64 CSR matrix of shape (n_samples, 499)
            1 for the kinds of regions that occur in a picture.
        target : int CSR matrix or array of shape (n_samples, 374)
            1 for the labels of a sample.
        target_names : list of 374 str
            Words.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_multilabel_pairwise : Synthetic label sets with known interactions.

    Examples
    --------
    >>> from sstruct.datasets import fetch_corel5k
    >>> corel5k = fetch_corel5k()  # doctest: +SKIP
    >>> corel5k.data.shape, corel5k.target.shape  # doctest: +SKIP
    ((4500, 499), (4500, 374))
    """
    return load_label_sets(
        "multilabel_corel5k.npz", _COREL5K, subset, return_indicator, data_home, return_X_y
    )


@shares_documentation(fetch_bibtex)
def fetch_corel16k(*, subset="all", return_indicator="sparse", data_home=None, return_X_y=False):
    """Load the pictures of the first Corel16k data set from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``multilabel_corel16k001.npz``
    must be there.

    Parameters
    ----------
    subset : {"all"}, default="all"
        The source gives no split.
    <return_indicator>
    <data_home>
    <return_X_y>

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : float64 CSR matrix of shape (n_samples, 500)
            1 for the kinds of regions that occur in a picture.
        target : int CSR matrix or array of shape (n_samples, 153)
            1 for the labels of a sample.
        target_names : list of 153 str
            Words.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_multilabel_pairwise : Synthetic label sets with known interactions.

    Examples
    --------
    >>> from sstruct.datasets import fetch_corel16k
    >>> corel16k = fetch_corel16k()  # doctest: +SKIP
    >>> corel16k.data.shape, corel16k.target.shape  # doctest: +SKIP
    ((13766, 500), (13766, 153))
    """
    return load_label_sets(
        "multilabel_corel16k001.npz", _COREL16K, subset, return_indicator, data_home, return_X_y
    )


@shares_documentation(fetch_bibtex)
def fetch_scene(*, subset="train", return_indicator="sparse", data_home=None, return_X_y=False):
    """Load the photographs of the Scene data set from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``scene.npz`` must be there.

    Parameters
    ----------
    <subset>
    <return_indicator>
    <data_home>
    <return_X_y>

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : float64 array of shape (n_samples, 294)
            Moments of colours in 49 blocks, 0 to 1.
        target : int CSR matrix or array of shape (n_samples, 6)
            1 for the labels of a sample.
        target_names : list of 6 str
            Beach, Sunset, FallFoliage, Field, Mountain, Urban.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    make_multilabel_pairwise : Synthetic label sets with known interactions.

    Examples
    --------
    >>> from sstruct.datasets import fetch_scene
    >>> scene = fetch_scene()  # doctest: +SKIP
    >>> scene.data.shape, scene.target.shape  # doctest: +SKIP
    ((1211, 294), (1211, 6))
    """
    return load_label_sets(
        "scene.npz", _SCENE, subset, return_indicator, data_home, return_X_y, _SCENE_LABELS
    )
