"""``ckprof results``: everything about stores but filling them."""
