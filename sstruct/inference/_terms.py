"""Models with terms beside their nodes and edges."""


class ModelWithTerms:
    """The energy of a model and of the terms beside it, for a Record.

    Parameters
    ----------
    model : MRF
    terms : MapTerms
        Over nodes of the model.
    """

    def __init__(self, model, terms):
        self.model, self.terms = model, terms

    def energy(self, labels):
        """Return the energy with the terms' own costs; +inf where one does not allow the labels."""
        return self.model.energy(labels) + self.terms.total(labels)
