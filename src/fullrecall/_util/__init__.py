"""Small tools without a subject of their own, used in every package."""
