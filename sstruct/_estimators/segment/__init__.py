"""The structure of SegmentSSVM."""
