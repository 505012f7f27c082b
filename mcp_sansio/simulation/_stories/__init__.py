"""What a trace says to people: an outline, a diagram, a page, a test."""
