"""Sort the gallery by topic, starting with tasks, training and inference."""

from pathlib import Path

ORDER = [
    *("entities", "activity", "multilabel_text", "superpixels", "segmentation", "read_dates"),
    *("pose", "hidden_snakes", "hidden_letters", "hidden_states"),
    *("early_stopping", "slack_vs_margin", "solvers"),
    *("graph_matching", "tomography"),
]


class TaskOrder:
    """Sort key of sphinx-gallery. Examples that are not in the list come last, by name."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, filename):
        name = Path(filename).stem.removeprefix("plot_")
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)
