"""The structures of SegmentSSVM and ChangePointSSVM."""
