"""Sessions that were recorded, and what recorded them."""
