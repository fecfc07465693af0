/// The longest chain: all by inference, with entity numbers that move at almost every hop.
extension CorpusFamily {
  static let artsy: CorpusFamily = {
    let folder = "artsy_energy/"
    let none = "SELECT NULL, NULL WHERE FALSE"
    func nulls(_ names: String...) -> [String: String] { .init(uniqueKeysWithValues: names.map { ($0, "NULL") }) }
    func made(_ columns: [String: String]) -> CorpusHop.Made { .init(columns: columns) }
    /// The entity that a key to an image leads to, where the source has no subentities of it yet.
    func image(_ key: String) -> String {
      "(SELECT k.Z_NAME FROM source.ZIMAGE AS i JOIN source.Z_PRIMARYKEY AS k USING (Z_ENT) WHERE i.Z_PK = s.\(key))"
    }
    /// Made by hand, the row of the store of 2.0 has another entity's number, and keys 0 that no object has.
    let artwork = CorpusHop.Made(
      kind: "'Artwork'",
      columns: [
        "ZARTIST": "NULLIF(s.ZARTIST, 0)", "ZMAINIMAGE": "NULLIF(s.ZMAINIMAGE, 0)", "ZNOTES": "NULLIF(s.ZNOTES, 0)",
        "ZPARTNER": "NULLIF(s.ZPARTNER, 0)",
      ])

    // The artworks of a location have no inverse for one version.
    var located = artwork
    located.columns["Z10ARTWORKS"] = "NULL"

    let first = CorpusHop(
      version: "ArtsyFolio v1.5",
      tables: [
        "ZALBUM": .init(
          table: "ZCOLLECTION",
          columns: [
            "ZEDITABLE": "1",
            // Required now: inference gives nil the default.
            "ZSLUG": "COALESCE(s.ZSLUG, 'unknown-album')",
          ]),
        "ZARTWORK": made(
          nulls("ZMAINIMAGE", "ZIMAGERIGHTS", "ZINVENTORYID", "ZLITERATURE", "ZSIGNATURE")
            .merging(["ZAVAILABILITY": "'not for sale'"]) { $1 }),
        "ZDOCUMENT": made(nulls("ZSHOW", "ZHUMANREADABLESIZE", "Z1DOCUMENTS").merging(["ZHASFILE": "1"]) { $1 }),
        "ZIMAGE": made(["ZMAINIMAGEFORARTWORK": "NULL", "ZASPECTRATIO": "0.0"]), "ZLOCATION": .empty,
        "ZPARTNER": made(
          nulls("ZPARTNERTYPE", "ZREPRESENTATIVEEMAIL").merging([
            "ZARTISTDOCUMENTSCOUNT": "0", "ZARTISTSCOUNT": "0", "ZSHOWDOCUMENTSCOUNT": "0",
          ]) { $1 }), "ZSHOW": .empty,
        // Its renaming identifier is 'user_role', the earlier attribute's is its name, 'role'.
        "ZUSER": made(["ZTYPE": "NULL"]),
      ],
      joins: [
        "Z_1ARTWORKS": "SELECT Z_3COLLECTIONS, Z_2ARTWORKS FROM source.Z_2COLLECTIONS", "Z_1ARTISTS": none,
        "Z_2SHOWSFEATURINGARTIST": none, "Z_3SHOWS": none,
      ], renamed: ["Collection": "Album"], lost: ["ZARTWORK.ZISFORSALE", "ZUSER.ZROLE"])

    let second = CorpusHop(
      version: "ArtsyFolio v1.7",
      tables: [
        "ZARTIST": made(["ZINSTALLSHOTSFEATURINGARTIST": "NULL"]), "ZARTWORK": made(["ZISAVAILABLEFORSALE": "0"]),
        "ZDOCUMENT": made(["ZALBUM": "NULL"]),
        "ZIMAGE": made(
          nulls(
            "ZPROCESSING", "ZARTISTSINIMAGE", "ZARTWORKSINIMAGE", "ZCOVERFORALBUM", "ZCOVERFORARTIST", "ZCOVERFORSHOW",
            "ZSHOWWITHIMAGEININSTALLATION"
          ).merging(["ZORIGINALHEIGHT": "0.0", "ZORIGINALWIDTH": "0.0"]) { $1 }),
      ],
      lost: [
        "ZARTIST.ZTHUMBNAIL", "ZDOCUMENT.ZPARTNER", "ZDOCUMENT.Z1DOCUMENTS", "ZIMAGE.ZARTIST", "ZIMAGE.ZTHUMBNAIL",
      ])

    let third = CorpusHop(
      version: "ArtsyFolio v2.0",
      tables: [
        "ZALBUM": made(["Z7_COVER": image("ZCOVER")]),
        "ZARTIST": made([
          "Z7_COVER": image("ZCOVER"), "Z7_INSTALLSHOTSFEATURINGARTIST": image("ZINSTALLSHOTSFEATURINGARTIST"),
        ]), "ZARTWORK": made(["Z7_MAINIMAGE": image("ZMAINIMAGE")]), "ZDOCUMENT": made(["ZTITLE": "NULL"]),
        "ZPARTNER": made(
          nulls(
            "ZACTIVE", "ZDEFAULTPROFILEPUBLIC", "ZDIRECTLYCONTACTABLE", "ZFOUNDINGPARTNER", "ZHASDEFAULTPROFILE",
            "ZHASFULLPROFILE", "ZPARTNERLIMITEDACCESS", "ZADMIN", "ZCONTRACTTYPE", "ZDEFAULTPROFILEID", "ZPARTNERID",
            "ZREGION", "ZRELATIVESIZE", "ZSUBSCRIPTIONSTATE")), "ZPARTNEROPTION": .empty,
        "ZSHOW": made(["ZSHOWSLUG": "NULL", "Z7_COVER": image("ZCOVER")]), "ZSUBSCRIPTIONPLAN": .empty,
        "ZSYNCERROR": .empty, "ZSYNCLOG": .empty, "ZUSER": made(["ZADMINFORPARTNER": "NULL"]),
      ])

    let later: [CorpusHop] = [
      CorpusHop(
        version: "ArtsyFolio v2.1", tables: ["ZARTWORK": located, "ZIMAGE": made(["ZCAPTION": "NULL"])],
        joins: ["Z_3LOCATIONS": none]),
      // The locations of an artwork were artworks in 2.1.
      CorpusHop(
        version: "ArtsyFolio v2.2", tables: ["ZARTWORK": made(["ZBACKENDPRICE": "NULL"])],
        joins: ["Z_3LOCATIONS": none], lost: ["Z_3LOCATIONS", "ZARTWORK.Z10ARTWORKS"]),
      CorpusHop(version: "ArtsyFolio v2.3", tables: ["ZARTWORK": made(["ZCONFIDENTIALNOTES": "NULL"])]),
      CorpusHop(version: "ArtsyFolio v2.4", tables: ["ZEDITIONSET": .empty]),
      CorpusHop(
        version: "ArtsyFolio v2.5", tables: ["ZPARTNER": made(["ZSIZE": "0"])], lost: ["ZPARTNER.ZRELATIVESIZE"]),
      // An artist's artworks have an inverse of their own now, which is to-many.
      CorpusHop(
        version: "ArtsyFolio v2.5.1",
        joins: [
          "Z_2ARTWORKS": "SELECT ZARTIST, Z_PK FROM source.ZARTWORK WHERE ZARTIST IS NOT NULL",
          "Z_3SHOWS": "SELECT Z_3ARTWORKS1, Z_15SHOWS FROM source.Z_3SHOWS",
          "Z_3LOCATIONS": "SELECT Z_3ARTWORKS2, Z_11LOCATIONS FROM source.Z_3LOCATIONS",
        ]),
      CorpusHop(version: "ArtsyFolio v2.5.3", tables: ["ZARTWORK": made(["ZARTISTORDERINGKEY": "NULL"])]),
      CorpusHop(
        version: "ArtsyFolio v2.6.0",
        tables: [
          "ZALBUM": made(["ZUPLOADRECORD": "NULL"]), "ZALBUMDELETE": .empty, "ZALBUMEDIT": .empty,
          "ZARTWORK": made(nulls("Z3ADDEDARTWORKS", "Z3REMOVEDARTWORKS")),
          "ZPARTNER": made(["ZLIMITEDFOLIOACCESS": "NULL"]),
        ]),
      CorpusHop(
        version: "ArtsyFolio v2.6.1",
        lost: [
          "ZALBUM.ZUPLOADRECORD", "ZALBUMDELETE", "ZALBUMEDIT", "ZARTWORK.Z3ADDEDARTWORKS",
          "ZARTWORK.Z3REMOVEDARTWORKS",
        ]),
      CorpusHop(
        version: "ArtsyFolio v2.7.0",
        tables: [
          "ZALBUM": made(["ZUPLOADRECORD": "NULL"]), "ZALBUMDELETE": .empty, "ZALBUMEDIT": .empty,
          "ZARTWORK": made(nulls("Z3ADDEDARTWORKS", "Z3REMOVEDARTWORKS")),
        ]),
    ]
    return CorpusFamily(
      name: "Artsy", models: folder + "Resources/CoreData/ArtsyPartner.xcdatamodeld",
      hops: [first, second, third] + later,
      stores: [
        Store(
          version: "ArtsyPartner 5", path: folder + "ArtsyFolio Tests/Migrations/ArtsyPartner_1.3.5.sqlite",
          objects: 169),
        Store(
          version: "ArtsyFolio v2.0", path: folder + "ArtsyFolio Tests/Migrations/ArtsyPartner_2.0.sqlite", objects: 1,
          differences: [.olderIndexes]),
        Store(
          version: "ArtsyFolio v2.3", path: folder + "Resources/CoreData/oss_stubbed_data.sqlite", objects: 108,
          differences: [.olderIndexes, .tableOrder]),
      ])
  }()
}
