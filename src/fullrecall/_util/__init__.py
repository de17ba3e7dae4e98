"""Small general tools, used in every package."""
