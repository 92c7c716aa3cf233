"""Label sets of texts, read from the folder of the data."""

from sstruct._documentation import shares_documentation

from ._multilabel import load_label_sets

_BIBTEX = """\
Bibtex
------

Bibliographic entries of BibSonomy's users, by 1836 words that occur or not, and their tags, 159
different ones, 2.4 each. 4880 for training, 2515 for testing.

I. Katakis, G. Tsoumakas and I. Vlahavas, Multilabel text classification for automated tag
suggestion, ECML/PKDD Discovery Challenge 2008. From the data of Mulan; the source states no
licence.
"""

_ENRON = """\
Enron
-----

E-mails of the Enron corpus by 1001 words that occur or not, and 53 labels of four kinds (A: coarse
genre, B: included or forwarded information, C: primary topics, D: emotional tone), 3.4 each. The
part of a name before the dot is the label's place in a hierarchy. 1123 for training, where one
label never occurs, and 579 for testing.

UC Berkeley Enron Email Analysis Project; in this form by J. Read, A pruned problem transformation
method for multi-label classification, NZCSRS 2008. From the data of Mulan; the source states no
licence.
"""

_RCV1_SUBSET = """\
RCV1, subset 1
--------------

6000 of Reuters' news stories by 47236 weighted words, and 101 topics, 2.9 each. Topics form a
hierarchy, which the source does not tell. There is no split here; others train on 3000 and test on
3000.

D. D. Lewis, Y. Yang, T. G. Rose and F. Li, RCV1: a new benchmark collection for text
categorization research, JMLR 5, 2004. From the package mldr.datasets (LGPL); the source states no
licence of the data.
"""

_DELICIOUS = """\
Delicious
---------

Web pages by 500 words that occur or not, and the tags that users of del.icio.us gave them, 983
different ones, 19 each; 14 pages have none. 12920 for training, 3185 for testing.

G. Tsoumakas, I. Katakis and I. Vlahavas, Effective and efficient multilabel classification in
domains with large number of labels, ECML/PKDD MMD 2008. From the data of Mulan; the source states
no licence.
"""

_TMC2007 = """\
TMC 2007
--------

Aviation safety reports by 500 selected words that occur or not, and 22 kinds of problems, 2.2
each. 21519 for training, 7077 for testing.

A. N. Srivastava and B. Zane-Ulman, Discovering recurring anomalies in text reports regarding
complex space systems, IEEE Aerospace Conference 2005. From the data of Mulan; the source states no
licence.
"""

_REUTERS_K500 = """\
Reuters, 500 words
------------------

6000 of Reuters' news stories (RCV1) by 500 selected words, and 103 topics, 1.5 each, whose names
are paths in a hierarchy. There is no split here.

J. Read, Scalable multi-label classification, PhD thesis, University of Waikato, 2010. From the
package mldr.datasets (LGPL); the source states no licence of the data.
"""


def fetch_bibtex(*, subset="train", return_indicator="sparse", data_home=None, return_X_y=False):
    """Load the bookmarks of the Bibtex data set from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``multilabel_bibtex.npz`` must
    be there.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Which part to load; "all" is the training part, then the test part.
    return_indicator : {"sparse", "dense"}, default="sparse"
        Label sets as a CSR matrix or as an array.
    data_home : path-like, default=None
        Folder of the file, an archive of arrays: ``X_train_data``, ``X_train_indices`` and
        ``X_train_indptr`` (features as CSR; else ``X_train``), ``Y_train_indices`` and
        ``Y_train_indptr`` (label sets as CSR without data; else ``Y_train``), the same for ``test``
        (``all`` alone in sets without a split), ``n_features``, ``n_labels``, ``label_names``. By
        default the environment variable SSTRUCT_DATA names the folder, else it is
        ``~/sstruct_data``.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : float64 CSR matrix of shape (n_samples, 1836)
            1 for the words that occur in an entry.
        target : int CSR matrix or array of shape (n_samples, 159)
            1 for the labels of a sample.
        target_names : list of 159 str
            Tags.
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
    >>> from sstruct.datasets import fetch_bibtex
    >>> bibtex = fetch_bibtex()  # doctest: +SKIP
    >>> bibtex.data.shape, bibtex.target.shape  # doctest: +SKIP
    ((4880, 1836), (4880, 159))
    """
    return load_label_sets(
        "multilabel_bibtex.npz", _BIBTEX, subset, return_indicator, data_home, return_X_y
    )


@shares_documentation(fetch_bibtex)
def fetch_enron(*, subset="train", return_indicator="sparse", data_home=None, return_X_y=False):
    """Load the e-mails of the Enron data set from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``multilabel_enron.npz`` must
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

        data : float64 CSR matrix of shape (n_samples, 1001)
            1 for the words that occur in an e-mail.
        target : int CSR matrix or array of shape (n_samples, 53)
            1 for the labels of a sample.
        target_names : list of 53 str
            Names such as "B.B12": kind and topic.
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    sstruct.preprocessing.hierarchical_labels : Label sets with the labels' ancestors.

    Examples
    --------
    >>> from sstruct.datasets import fetch_enron
    >>> enron = fetch_enron()  # doctest: +SKIP
    >>> enron.data.shape, enron.target.shape  # doctest: +SKIP
    ((1123, 1001), (1123, 53))
    """
    return load_label_sets(
        "multilabel_enron.npz", _ENRON, subset, return_indicator, data_home, return_X_y
    )


@shares_documentation(fetch_bibtex)
def fetch_rcv1_subset(*, subset="all", return_indicator="sparse", data_home=None, return_X_y=False):
    """Load a subset of Reuters' news stories (RCV1) from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``multilabel_rcv1sub1.npz``
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

        data : float64 CSR matrix of shape (n_samples, 47236)
            Weights of words (tf-idf), rows of length 1.
        target : int CSR matrix or array of shape (n_samples, 101)
            1 for the labels of a sample.
        target_names : list of 101 str
            "Class1" to "Class101": the source names them so.
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
    >>> from sstruct.datasets import fetch_rcv1_subset
    >>> rcv1 = fetch_rcv1_subset()  # doctest: +SKIP
    >>> rcv1.data.shape, rcv1.target.shape  # doctest: +SKIP
    ((6000, 47236), (6000, 101))
    """
    return load_label_sets(
        "multilabel_rcv1sub1.npz", _RCV1_SUBSET, subset, return_indicator, data_home, return_X_y
    )


@shares_documentation(fetch_bibtex)
def fetch_delicious(*, subset="train", return_indicator="sparse", data_home=None, return_X_y=False):
    """Load the bookmarks of the Delicious data set from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``multilabel_delicious.npz``
    must be there.

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

        data : float64 CSR matrix of shape (n_samples, 500)
            1 for the words that occur on a page.
        target : int CSR matrix or array of shape (n_samples, 983)
            1 for the labels of a sample.
        target_names : list of 983 str
            Tags.
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
    >>> from sstruct.datasets import fetch_delicious
    >>> delicious = fetch_delicious()  # doctest: +SKIP
    >>> delicious.data.shape, delicious.target.shape  # doctest: +SKIP
    ((12920, 500), (12920, 983))
    """
    return load_label_sets(
        "multilabel_delicious.npz", _DELICIOUS, subset, return_indicator, data_home, return_X_y
    )


@shares_documentation(fetch_bibtex)
def fetch_tmc2007(*, subset="train", return_indicator="sparse", data_home=None, return_X_y=False):
    """Load the aviation reports of the TMC 2007 data set from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``multilabel_tmc2007_500.npz``
    must be there.

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

        data : float64 CSR matrix of shape (n_samples, 500)
            1 for the words that occur in a report.
        target : int CSR matrix or array of shape (n_samples, 22)
            1 for the labels of a sample.
        target_names : list of 22 str
            "class01" to "class22".
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
    >>> from sstruct.datasets import fetch_tmc2007
    >>> tmc2007 = fetch_tmc2007()  # doctest: +SKIP
    >>> tmc2007.data.shape, tmc2007.target.shape  # doctest: +SKIP
    ((21519, 500), (21519, 22))
    """
    return load_label_sets(
        "multilabel_tmc2007_500.npz", _TMC2007, subset, return_indicator, data_home, return_X_y
    )


@shares_documentation(fetch_bibtex)
def fetch_reuters_k500(
    *, subset="all", return_indicator="sparse", data_home=None, return_X_y=False
):
    """Load 6000 of Reuters' news stories by 500 words from the folder of the data.

    No page serves this set in this form, so nothing is downloaded: ``multilabel_reutersk500.npz``
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
            Weights of words.
        target : int CSR matrix or array of shape (n_samples, 103)
            1 for the labels of a sample.
        target_names : list of 103 str
            Paths in a hierarchy, such as "CCAT.C15.C152".
        DESCR : str
            Description of the data.

    Raises
    ------
    OSError
        If the file is missing.

    See Also
    --------
    sstruct.preprocessing.hierarchical_labels : Label sets with the labels' ancestors.

    Examples
    --------
    >>> from sstruct.datasets import fetch_reuters_k500
    >>> reuters = fetch_reuters_k500()  # doctest: +SKIP
    >>> reuters.data.shape, reuters.target.shape  # doctest: +SKIP
    ((6000, 500), (6000, 103))
    """
    return load_label_sets(
        "multilabel_reutersk500.npz", _REUTERS_K500, subset, return_indicator, data_home, return_X_y
    )
