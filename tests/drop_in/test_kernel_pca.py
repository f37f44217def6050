"""scikit-learn's tests of kernel principal components, passed by absentia's."""

from drop_in.copies import collected, copy_of

_COPY = copy_of(
    "decomposition/tests/test_kernel_pca.py",
    {
        "from sklearn.decomposition import PCA, KernelPCA": (
            "from sklearn.decomposition import PCA\nfrom absentia import KernelPCA"
        ),
    },
)

_EXPECTED = {
    "test_kernel_pca_inverse_correct_gamma": "gamma=None is not a width: 'auto' is 1 / n_features",
}

globals().update(collected(_COPY, _EXPECTED))
