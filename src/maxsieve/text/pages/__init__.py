"""Pages of PDFs and pictures as documents: rendering, OCR, places on a page, and heat maps."""
