"""The languages of the studio, and the way from an English text to them."""
