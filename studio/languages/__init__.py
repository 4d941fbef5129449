"""The languages of the studio: catalogues of translations, and texts recognised by their templates."""
