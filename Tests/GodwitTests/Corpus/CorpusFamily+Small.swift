/// The chains of few tables.
extension CorpusFamily {
  static let all: [CorpusFamily] = [moody, wibosco, books, samples, library, users, bookmarks, artsy]

  /// Regions leave their hierarchy, a continent becomes a number, then an object again.
  static let moody: CorpusFamily = {
    let folder = "objcio_core-data/Migrations/"
    func mapping(_ from: Int, _ to: Int) -> CorpusHop.Way {
      .xcode([folder + "Migrations/Moody \(from)-Moody \(to).xcmappingmodel"])
    }
    func store(_ version: Int) -> Store {
      let name = version == 1 ? "Moody" : "Moody \(version)"
      return Store(
        version: name, path: folder + "MigrationsTests/\(name).moody", objects: version == 5 ? 7 : 9,
        differences: [.olderIndexes])
    }
    return CorpusFamily(
      name: "Moody", models: folder + "Migrations/Moody.xcdatamodeld",
      hops: [
        CorpusHop(
          version: "Moody 2", tables: ["ZMOOD": .init(columns: ["ZREMOTEID": "s.ZREMOTEIDENTIFIER", "ZRATING": "0"])]),
        CorpusHop(
          version: "Moody 3", way: mapping(2, 3),
          tables: [
            "ZMOOD": .init(columns: [
              "ZCONTINENT": "(SELECT r.ZCONTINENT FROM source.ZGEOGRAPHICREGION AS r WHERE r.Z_PK = s.ZCOUNTRY)"
            ])
          ]),
        CorpusHop(
          version: "Moody 4", way: mapping(3, 4),
          tables: [
            "ZCONTINENT": .init(table: "ZGEOGRAPHICREGION", filter: "kind = 'Continent'"),
            "ZCOUNTRY": .init(table: "ZGEOGRAPHICREGION", filter: "kind = 'Country'"),
          ]),
        CorpusHop(
          version: "Moody 5", way: mapping(4, 5),
          tables: [
            "ZCOUNTRY": .init(columns: [
              "ZISOCONTINENT": "(SELECT c.ZNUMERICISO3166CODE FROM source.ZCONTINENT AS c WHERE c.Z_PK = s.ZCONTINENT)"
            ])
          ], lost: ["ZCONTINENT"]),
        // The application's policy makes continents of the numbers; the default policy makes none, and links none.
        CorpusHop(
          version: "Moody 6", way: mapping(5, 6),
          tables: ["ZCONTINENT": .empty, "ZCOUNTRY": .init(columns: ["ZCONTINENT": "NULL"])],
          lost: ["ZCOUNTRY.ZISOCONTINENT"]),
      ], stores: (1...5).map(store))
  }()

  /// Each post's color becomes an object of its own.
  static let wibosco: CorpusFamily = {
    let folder = "wibosco_CoreDataMigration-Example/CoreDataMigration-Example"
    let model = "CoreDataMigration_Example"
    func store(_ version: Int, _ name: String, _ objects: Int64) -> Store {
      Store(
        version: version == 1 ? model : "\(model) \(version)",
        path: folder + "Tests/Resources/SQLite/CoreDataMigration_Example_\(name).sqlite", objects: objects)
    }
    return CorpusFamily(
      name: "Wibosco", models: folder + "/CoreData/Model/CoreDataMigration_Example.xcdatamodeld",
      hops: [
        CorpusHop(
          version: "\(model) 2", way: .xcode([folder + "/CoreData/Migration/Mappings/Migration1to2.xcmappingmodel"]),
          tables: ["ZPOST": .init(columns: ["ZHEXCOLOR": "s.ZCOLOR"])]),
        // The policy makes a color for each post, with a random identifier, and the destination wants one: no post is
        // valid without the policy. The mapping file says it in expressions; the color takes the post's identifier.
        CorpusHop(
          version: "\(model) 3", way: .ours("Wibosco2to3"),
          tables: [
            "ZCOLOR": .init(
              table: "ZPOST", kind: "'Color'",
              columns: ["ZPOST": "s.Z_PK", "ZCOLORID": "s.ZPOSTID", "ZHEX": "s.ZHEXCOLOR"]),
            "ZPOST": .init(columns: ["ZCOLOR": "s.Z_PK"]),
          ]),
        CorpusHop(version: "\(model) 4", tables: ["ZPOST": .init(columns: ["ZHIDE": "0"])]),
      ],
      stores: [store(1, "1", 1001), store(2, "2", 5979), store(3, "3", 2 * 7995), store(4, "WAL", 2 * 84)])
  }()

  /// One step by two mapping models. The policies split an author's name into objects and make files of addresses; the
  /// default policy drops both.
  static let books: CorpusFamily = {
    let folder = "hwaxxer_BookMigration/BookMigration/"
    return CorpusFamily(
      name: "BookMigration", models: folder + "Model.xcdatamodeld",
      hops: [
        CorpusHop(
          version: "Model2", way: .xcode([folder + "Model1_to_Model2.xcmappingmodel"]), tables: ["ZAUTHOR": .empty],
          joins: [
            "Z_1BOOKS": "SELECT NULL, NULL WHERE FALSE",
            "Z_2USERS": "SELECT Z_PK, ZUSER FROM source.ZBOOK WHERE ZUSER IS NOT NULL",
          ], lost: ["ZBOOK.ZAUTHORNAME"]),
        CorpusHop(
          version: "Model3",
          way: .xcode([folder + "Model2_to_Model3.xcmappingmodel", folder + "Model2_to_Model3_User.xcmappingmodel"]),
          tables: ["ZFILE": .empty], lost: ["ZBOOK.ZFILEURL", "Z_2USERS"]),
      ], stores: [Store(version: "Model1", path: folder + "Model1.sqlite", objects: 7)])
  }()

  /// Cars three deep in a hierarchy, one of them renamed.
  static let samples: CorpusFamily = {
    let folder = "alemar11_CoreDataPlus/Tests/Resources/SampleModel/"
    // A store that Core Data migrated in place keeps the former name in `Z_PRIMARYKEY`.
    let renamed = ["ExpensiveSportCar": "LuxuryCar"]
    func store(_ version: String, _ name: String, _ differences: [StoreStructure.Difference]) -> Store {
      Store(
        version: version, path: folder + "Fixtures/SampleModel_\(name).sqlite", objects: 145, differences: differences)
    }
    return CorpusFamily(
      name: "CoreDataPlus", models: folder + "SampleModel.xcdatamodeld",
      hops: [
        CorpusHop(version: "SampleModel2", renamed: renamed, lost: ["ZCAR.ZCOLOR", "ZPERSON.ZID"]),
        // The policy makes makers of their names; the default policy makes none, and links none.
        CorpusHop(
          version: "SampleModel3", way: .xcode([folder + "MappingModels/V2toV3.xcmappingmodel"]),
          tables: ["ZCAR": .init(columns: ["ZCREATEDBY": "NULL"]), "ZMAKER": .empty],
          joins: ["Z_1PREVIOUSOWNERS": "SELECT Z_PK, ZOWNER FROM source.ZCAR WHERE ZOWNER IS NOT NULL"],
          renamed: renamed, lost: ["ZCAR.ZMAKER"]),
      ],
      stores: [
        store("SampleModel", "V1", []),
        store("SampleModel2", "V2", [.formerName("ExpensiveSportCar", of: "LuxuryCar"), .tableOrder]),
      ])
  }()

  /// The same project's books: a derived attribute with its triggers, decimals, UUIDs, history. The models were built
  /// in code, and lie in the stores alone.
  static let library: CorpusFamily = {
    let folder = "alemar11_CoreDataPlus/Tests/Resources/SampleModel2/Fixtures/"
    return CorpusFamily(
      name: "CoreDataPlus books", models: nil,
      hops: [
        CorpusHop(
          version: "V2", tables: ["ZBOOK": .init(columns: ["ZFRONTCOVER": "s.ZCOVER"])], lost: ["ZWRITER.ZSITEURL"])
      ],
      stores: [
        Store(version: "V1", path: folder + "SampleModel2_V1.sqlite", objects: 5468),
        Store(version: "V2", path: folder + "SampleModel2_V2.sqlite", objects: 126),
      ])
  }()

  /// The same project's chain of users.
  static let users: CorpusFamily = {
    let folder = "alemar11_CoreDataPlus/Tests/Resources/SampleModel3/"
    return CorpusFamily(
      name: "CoreDataPlus users", models: folder + "SampleModel3.xcdatamodeld",
      hops: [
        CorpusHop(
          version: "SampleModel3_v2", tables: ["ZPET": .empty, "ZUSER": .init(columns: ["ZPET": "NULL"])]),
        CorpusHop(version: "SampleModel3_v3", lost: ["ZUSER.ZPETNAME"]),
      ], stores: [Store(version: "SampleModel3", path: folder + "Fixtures/SampleModel3_V1.sqlite", objects: 12)])
  }()

  /// One entity in a tree, in two orders; a to-one becomes a many-to-many onto itself.
  static let bookmarks: CorpusFamily = {
    let folder = "duckduckgo_BrowserServicesKit/"
    func version(_ number: Int) -> String { number == 1 ? "BookmarksModel" : "BookmarksModel \(number)" }
    func store(_ number: Int, _ surplus: [String]) -> Store {
      Store(
        version: version(number), path: folder + "Tests/BookmarksTests/Resources/Bookmarks_V\(number).sqlite",
        objects: 10, differences: surplus.map { .surplusIndex($0) })
    }
    func hop(_ number: Int, _ new: [String: String], lost: Set<String> = []) -> CorpusHop {
      CorpusHop(version: version(number), tables: ["ZBOOKMARKENTITY": .init(columns: new)], lost: lost)
    }
    var favorites = hop(4, [:])
    favorites.joins["Z_1FAVORITES"] = """
      SELECT ZFAVORITEFOLDER, Z_PK,
        row_number() OVER (PARTITION BY ZFAVORITEFOLDER ORDER BY Z_FOK_FAVORITEFOLDER, Z_PK)
      FROM source.ZBOOKMARKENTITY WHERE ZFAVORITEFOLDER IS NOT NULL
      """
    return CorpusFamily(
      name: "Bookmarks", models: folder + "Sources/Bookmarks/BookmarksModel.xcdatamodeld",
      hops: [
        hop(2, [:]),
        hop(3, ["ZISPENDINGDELETION": "0", "ZMODIFIEDAT": "NULL"], lost: ["ZBOOKMARKENTITY.ZISFAVORITE"]), favorites,
        hop(5, ["ZLASTCHILDRENPAYLOADRECEIVEDFROMSYNC": "NULL"]), hop(6, ["ZISSTUB": "NULL"]),
      ],
      // Indexes of a former version of the model stay after a migration in place.
      stores: [
        store(1, []), store(2, ["Z_BookmarkEntity_uuid", "Z_BookmarkEntity_url"]),
        store(4, ["Z_BookmarkEntity_isPendingDeletion"]),
      ])
  }()
}
