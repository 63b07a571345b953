"""Pictures from files or arrays to batches: folders, decoding, transforms, audit, loader.

>>> prepared = prepare_folder("pets", progress=True)                       # doctest: +SKIP
>>> augmentation = TrainAugmentation(Preprocessing(size=224, resize=256))  # doctest: +SKIP
>>> loader = Loader(prepared.train, augmentation, 32, training=True)       # doctest: +SKIP
"""

from zoo.data.audit import Audit
from zoo.data.decode import decode
from zoo.data.errors import (
    DataError,
    LoaderError,
    MissingFolder,
    NoClassFolders,
    NoPictures,
    NotAFolder,
    OneClassOnly,
    StrayClasses,
    UnreadableImage,
    UnreadableImages,
)
from zoo.data.image_folder import Folder, FolderImages, Picture, scan
from zoo.data.image_set import ArrayImages, ImageSet
from zoo.data.loader import Batch, Loader, to_tensor
from zoo.data.prepare import PreparedFolder, prepare_evaluation, prepare_folder
from zoo.data.split import Fold, split, split_by_content
from zoo.data.transforms import Preprocessing, TrainAugmentation, sample_rng

__all__ = [
    "ArrayImages",
    "Audit",
    "Batch",
    "DataError",
    "Fold",
    "Folder",
    "FolderImages",
    "ImageSet",
    "Loader",
    "LoaderError",
    "MissingFolder",
    "NoClassFolders",
    "NoPictures",
    "NotAFolder",
    "OneClassOnly",
    "Picture",
    "PreparedFolder",
    "Preprocessing",
    "StrayClasses",
    "TrainAugmentation",
    "UnreadableImage",
    "UnreadableImages",
    "decode",
    "prepare_evaluation",
    "prepare_folder",
    "sample_rng",
    "scan",
    "split",
    "split_by_content",
    "to_tensor",
]
