"""The report as one HTML file, to look at: a plain document, the page around it, the index."""
