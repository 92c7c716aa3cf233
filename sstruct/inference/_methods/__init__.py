"""Methods of map_mrf."""
