"""Features of arcs and labels of dependency trees."""
