"""scikit-learn estimators that accept rows with holes, and beliefs in place of rows."""
