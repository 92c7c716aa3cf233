"""Draw the pictures of index.rst, from the examples, and the chart of which_estimator.rst.

Run `python doc/pictures.py` after a change of an example. The files in _static/pictures are in the
repository, because a build of the manual cannot write into its sources.
"""

import base64
import io
import itertools
import runpy
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
PICTURES = HERE / "_static" / "pictures"
WIDTH, HEIGHT = 320, 170
COLORS = ["#1b6ca8", "#d1603d", "#3f8f5b", "#8a5fa8"]
TEXT, LINE, PAPER = "#22303c", "#8a98a5", "#eef2f5"


def text(x, y, value, size=12, anchor="middle", fill=TEXT, weight="normal"):
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" '
        f'font-weight="{weight}">{escape(value)}</text>'
    )


def box(x, y, width, height, fill, stroke="none"):
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="5" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def card(parts):
    """Return a picture. Its light ground makes it legible in the dark theme, too."""
    ground = box(0, 0, WIDTH, HEIGHT, PAPER)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif">\n' + "\n".join([ground, *parts]) + "\n</svg>\n"
    )


def example(name):
    """Run an example without showing its figure, and return its names."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    names = runpy.run_path(str(EXAMPLES / name))
    plt.close("all")
    return names


def entities():
    """Draw short sentences whose names are all found."""
    from sstruct.spans import spans_of

    names = example("tutorials/plot_find_names.py")
    rows = zip(names["words"][200:], names["y"][200:], names["y_pred"], strict=True)
    found = [
        (words, spans_of(list(labels)))
        for words, truth, labels in rows
        if list(truth) == list(labels) and len(words) <= 10 and spans_of(list(labels))
    ]
    parts = []
    for row, (words, spans) in enumerate(found[:3]):
        y, x = 36 + 50 * row, 14
        bounds = sorted({0, len(words), *(end for span in spans for end in span[:2])})
        names_at = {start for start, _, _ in spans}
        for start, stop in itertools.pairwise(bounds):
            run, named = " ".join(words[start:stop]), start in names_at
            width = 5.9 * len(run)
            if named:
                parts.append(box(x - 3, y - 14, width + 6, 20, COLORS[0]))
                parts.append(text(x + width / 2, y + 19, "name", 10, fill=COLORS[0]))
            # The font of a reader may be wider.
            fit = f'<text lengthAdjust="spacingAndGlyphs" textLength="{width:.0f}"'
            label = text(x, y, run, 11, "start", "white" if named else TEXT)
            parts.append(label.replace("<text", fit, 1))
            x += width + 7
    return card(parts)


def streams():
    """Draw the range of a signal in each second, in the color of the predicted activity."""
    names = example("gallery/plot_activity.py")
    signal, labels = names["signals"][names["shown"]], names["predictions"]["chain"]
    middle, scale = signal.mean(), 50 / np.abs(signal - signal.mean()).max()
    parts = []
    for k, activity in enumerate(names["ACTIVITIES"]):
        path = "".join(
            f"M{10 + 2.5 * t:.1f} {70 + scale * (signal[t].min() - middle):.0f}"
            f"V{70 + scale * (signal[t].max() - middle):.0f}"
            for t in np.flatnonzero(labels == k)
        )
        color = COLORS[k]
        parts.append(f'<path d="{path}" stroke="{color}" stroke-width="2"/>')
        if path:
            parts.append(box(22 + 92 * min(k, 2), 142, 11, 11, color))
            parts.append(text(38 + 92 * min(k, 2), 152, activity, anchor="start"))
    return card(parts)


def png(pixels):
    """Return an image as the URL of a PNG file with few colors."""
    from PIL import Image

    file = io.BytesIO()
    pixels = np.clip(255 * pixels, 0, 255).astype(np.uint8)
    Image.fromarray(pixels).quantize(64).save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def images():
    """Draw a picture and the labels of its superpixels."""
    names = example("gallery/plot_superpixels.py")
    labels = names["predictions"]["graph"]
    parts = []
    for x, pixels in ((12, names["picture"]), (178, names["COLORS"][labels])):
        parts.append(
            f'<image x="{x}" y="14" width="130" height="142" preserveAspectRatio="xMidYMid slice" '
            f'style="image-rendering:pixelated" href="{png(pixels)}"/>'
        )
    parts.append(f'<path d="M149 85h22m-8 -7l8 7l-8 7" stroke="{TEXT}" fill="none"/>')
    return card(parts)


PLACES = {
    "sport": (66, 78), "politics": (178, 78), "health": (276, 78), "football": (38, 134),
    "tennis": (99, 134), "election": (157, 134), "taxes": (212, 134), "vaccine": (276, 134),
}  # fmt: skip


def label_sets():
    """Draw topics, pairs that attract each other, and the topics of a document."""
    names = example("gallery/plot_multilabel_text.py")
    topics, weights = names["TOPICS"], names["weights"]
    found = names["models"]["pairs"].predict(names["texts_test"])
    right = (found == names["Y_test"]).all(axis=1) & (found.sum(axis=1) == 2)
    chosen = np.flatnonzero(right)[0]
    words = names["texts_test"][chosen].split()
    parts = [text(160, 24, " ".join(words[:4])), text(160, 42, " ".join(words[4:]))]
    for j, k in np.argwhere(np.triu(weights) > 0.3):
        (x, y), (u, v) = PLACES[topics[j]], PLACES[topics[k]]
        parts.append(
            f'<path d="M{x} {y}L{u} {v}" stroke="{LINE}" stroke-width="{3 * weights[j, k]:.1f}"/>'
        )
    for topic, on in zip(topics, found[chosen], strict=True):
        (x, y), width = PLACES[topic], 6.4 * len(topic) + 10
        parts.append(box(x - width / 2, y - 12, width, 24, COLORS[0] if on else "white", COLORS[0]))
        parts.append(text(x, y + 4, topic, fill="white" if on else TEXT))
    return card(parts)


def structure():
    """Draw documents and their predicted ranks."""
    names = example("tutorials/plot_own_structure.py")
    ranks = names["model"].predict(names["X"][80:81])[0]
    parts = [text(70, 20, "documents", 11), text(250, 20, "predicted ranking", 11)]
    for i, rank in enumerate(ranks):
        color = COLORS[rank % 4]
        y, v = 30 + 23 * i, 30 + 23 * rank
        parts.append(
            f'<path d="M112 {y + 8}C160 {y + 8} 160 {v + 8} 208 {v + 8}" stroke="{color}" '
            f'stroke-width="2" fill="none"/>'
        )
        for x, place in ((28, y), (208, v)):
            parts.append(box(x, place, 84, 17, color))
            parts.append(text(x + 42, place + 12, f"document {'ABCDEF'[i]}", 11, fill="white"))
    return card(parts)


# Questions of the chart and their answers: estimators, with the page of each.
ROWS = [
    ("A sequence: words, time steps", "ChainSSVM"),
    ("Segments with durations", "SegmentSSVM"),
    ("Change points of a signal", "ChangePointSSVM"),
    ("An image, a label for each pixel", "GridCRFSSVM"),
    ("A graph: superpixels, molecules", "GraphCRFSSVM"),
    ("A graph with types of nodes", "TypedGraphCRFSSVM"),
    ("A row with any number of labels", "MultilabelSSVM"),
    ("An object with parts to locate", "TreeSSVM"),
    ("Two sets to match: detections", "MatchingSSVM"),
    ("Two sequences to align: proteins", "AlignmentSSVM"),
    ("A sentence with a parse tree", "DependencySSVM"),
    ("Anything else, such as rankings", "StructuredSVM"),
]
THEN = [
    ("Some labels are hidden", "LatentSSVM"),
    ("You need probabilities", "calibration.CalibratedSSVM"),
    ("You need sets with a guarantee", "calibration.ConformalSSVM"),
    ("Choose the regularization", "PathCV"),
]


def link(x, y, width, name):
    """Return a box that leads to the reference page of a class."""
    label = text(x + width / 2, y + 20, name.split(".")[-1], 14, fill="none", weight="bold")
    return (
        f'<a href="generated/sstruct.{name}.html">{box(x, y, width, 30, "none")}'
        + label.replace(' fill="none"', "")
        + "</a>"
    )


def question(x, y, width, value):
    return box(x, y, width, 30, "none") + text(x + 12, y + 20, value, 14, "start").replace(
        f' fill="{TEXT}"', ""
    )


def which_estimator():
    """Draw the decision chart. manual.css has its colors, since it is part of the page."""
    note = '<text x="{}" y="{}" font-size="13">{}</text>'
    parts = [question(2, 2, 258, "Do labels depend on each other?")]
    parts += ['<path d="M260 17H296"/>', note.format(268, 12, "no")]
    parts.append(question(296, 2, 182, "LinearSVC or similar"))
    parts += ['<path d="M14 32V66"/>', note.format(22, 50, "yes: what is a sample?")]
    y = 66
    for rows, end in ((ROWS, "then"), (THEN, "")):
        for value, name in rows:
            parts += [f'<path d="M260 {y + 15}H296"/>', question(2, y, 258, value)]
            parts.append(link(296, y, 182, name))
            y += 38
        if end:
            parts.append(note.format(14, y + 14, "Add to any of these, if needed:"))
            y += 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="decision-chart" viewBox="0 0 480 {y}" '
        'role="img" aria-label="Decision chart: the estimator for each form of data">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


DRAWINGS = (entities, streams, images, label_sets, structure, which_estimator)


def main():
    for draw in DRAWINGS:
        (PICTURES / f"{draw.__name__}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
