"""From a prior and incomplete rows to beliefs about them."""
