"""Metrics for structured predictions."""

from sstruct.metrics._alignment_scores import alignment_accuracy, alignment_f1_score
from sstruct.metrics._boundary_scores import boundary_f1_score
from sstruct.metrics._joint_distance import mean_joint_distance
from sstruct.metrics._probability_scores import (
    flat_brier_score_loss,
    flat_calibration_error,
    flat_log_loss,
)
from sstruct.metrics._scores import (
    flat_accuracy_score,
    flat_accuracy_scorer,
    flat_classification_report,
    flat_f1_score,
    flat_precision_score,
    flat_recall_score,
    make_flat_scorer,
    sequence_accuracy_score,
    sequence_accuracy_scorer,
)
from sstruct.metrics._segment_scores import segment_edit_score, segment_f1_score
from sstruct.metrics._set_scores import (
    flat_coverage_score,
    flat_mean_width_score,
    sequence_coverage_score,
    sequence_mean_width_score,
)
from sstruct.metrics._span_matches import span_confusions, span_match_counts
from sstruct.metrics._span_scores import (
    chunk_f1_score,
    chunk_f1_scorer,
    chunk_precision_recall_f1,
    span_classification_report,
    span_confusion_matrix,
    span_f1_score,
    span_precision_score,
    span_recall_score,
)
from sstruct.metrics._span_thresholds import span_precision_recall_curve, span_threshold
from sstruct.metrics._tree_scores import labeled_attachment_score, unlabeled_attachment_score

__all__ = [
    "alignment_accuracy",
    "alignment_f1_score",
    "boundary_f1_score",
    "chunk_f1_score",
    "chunk_f1_scorer",
    "chunk_precision_recall_f1",
    "flat_accuracy_score",
    "flat_accuracy_scorer",
    "flat_brier_score_loss",
    "flat_calibration_error",
    "flat_classification_report",
    "flat_coverage_score",
    "flat_f1_score",
    "flat_log_loss",
    "flat_mean_width_score",
    "flat_precision_score",
    "flat_recall_score",
    "labeled_attachment_score",
    "make_flat_scorer",
    "mean_joint_distance",
    "segment_edit_score",
    "segment_f1_score",
    "sequence_accuracy_score",
    "sequence_accuracy_scorer",
    "sequence_coverage_score",
    "sequence_mean_width_score",
    "span_classification_report",
    "span_confusion_matrix",
    "span_confusions",
    "span_f1_score",
    "span_match_counts",
    "span_precision_recall_curve",
    "span_precision_score",
    "span_recall_score",
    "span_threshold",
    "unlabeled_attachment_score",
]

# Import path for pickles and skops files of searches, whose scorers contain these functions.
for _name in __all__:
    if not _name.endswith("_scorer"):  # objects of scikit-learn, and the function that makes them
        globals()[_name].__module__ = __name__
